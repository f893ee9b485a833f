module github.com/tidings-go/tidings/sampleapp

go 1.26.0

require github.com/tidings-go/tidings v0.0.0

replace github.com/tidings-go/tidings => ../
