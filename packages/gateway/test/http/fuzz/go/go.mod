module postern/fuzz

go 1.22
