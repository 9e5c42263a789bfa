module postern.test/openapi

go 1.26.0
