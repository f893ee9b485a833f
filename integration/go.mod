module github.com/tidings-go/tidings/integration

go 1.26.0

require github.com/tidings-go/tidings v0.0.0

replace github.com/tidings-go/tidings => ../
