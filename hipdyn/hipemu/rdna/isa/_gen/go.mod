module gorun/hipdyn/hipemu/rdna/isa/_gen

go 1.26.0
