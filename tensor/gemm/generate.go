package gemm

//go:generate go -C _asm run . -set avx512 -out ../avx512_amd64.s -stubs ../avx512_amd64.go -tables ../avx512_tables_amd64.go -pkg gemm
//go:generate go -C _asm run . -set avx2 -out ../avx2_amd64.s -stubs ../avx2_amd64.go -tables ../avx2_tables_amd64.go -pkg gemm
