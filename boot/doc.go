package boot
