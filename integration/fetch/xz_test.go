//go:build unix

package fetch_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
)

// storedXZ wraps content in the xz format without compressing it: LZMA2 has
// chunks for that. A machine without xz-utils can do it, and under the race
// detector it takes no time, where a compressor in Go takes minutes.
func storedXZ(content []byte) []byte {
	const chunk = 1 << 16
	flags := []byte{0, 1} // the check is a CRC32
	var out bytes.Buffer
	out.WriteString("\xfd7zXZ\x00")
	out.Write(flags)
	out.Write(sum(flags))

	begin := out.Len()
	header := []byte{2, 0, 0x21, 1, 16, 0, 0, 0} // 12 bytes with its sum; one filter: LZMA2 with 1 MiB
	out.Write(header)
	out.Write(sum(header))
	kind := byte(1) // of the first chunk, which resets the dictionary
	for rest := content; len(rest) > 0; kind = 2 {
		n := min(len(rest), chunk)
		out.WriteByte(kind)
		out.Write(binary.BigEndian.AppendUint16(nil, uint16(n-1)))
		out.Write(rest[:n])
		rest = rest[n:]
	}
	out.WriteByte(0)
	check := sum(content)
	unpadded := out.Len() - begin + len(check)
	pad(&out, begin)
	out.Write(check)

	begin = out.Len()
	index := []byte{0, 1}
	index = binary.AppendUvarint(index, uint64(unpadded))
	index = binary.AppendUvarint(index, uint64(len(content)))
	out.Write(index)
	pad(&out, begin)
	out.Write(sum(out.Bytes()[begin:]))
	footer := binary.LittleEndian.AppendUint32(nil, uint32((out.Len()-begin)/4-1))
	footer = append(footer, flags...)
	out.Write(sum(footer))
	out.Write(footer)
	out.WriteString("YZ")
	return out.Bytes()
}

func sum(b []byte) []byte {
	return binary.LittleEndian.AppendUint32(nil, crc32.ChecksumIEEE(b))
}

// pad fills up to a multiple of four since begin.
func pad(out *bytes.Buffer, begin int) {
	for (out.Len()-begin)%4 != 0 {
		out.WriteByte(0)
	}
}
