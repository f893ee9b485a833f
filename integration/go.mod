module github.com/tidings-go/tidings/integration

go 1.26.0

require github.com/stretchr/testify v1.12.1

require (
	github.com/tidings-go/tidings v0.0.0
	go.yaml.in/yaml/v3 v3.0.5 // indirect
)

replace github.com/tidings-go/tidings => ../
