module example.com/embed

go 1.26.0

require gorun v0.0.0

require (
	github.com/edsrzf/mmap-go v1.2.0 // indirect
	golang.org/x/sys v0.50.0 // indirect
	golang.org/x/text v0.44.0 // indirect
)

replace gorun => ../..
