package synth

// shapes are the named shapes: sizes as published with the models. llama-1b is
// Llama 3.2 1B with a vocabulary of 32000; tiny and tiny-moe are nobody's.
var shapes = []shape{
	{
		name: "tiny", about: "one layer, one query and one KV head of 64: for tests",
		family: llama, arch: "llama", vocab: 512, context: 2048, width: 256, layers: 1,
		heads: 1, kvHeads: 1, headDim: 64, hidden: 512, tied: true, eps: 1e-5, ropeBase: 10000, ropeDims: 64,
	},
	{
		name: "tiny-moe", about: "Qwen3's mixture with two layers and eight experts: for tests",
		family: qwen3, arch: "qwen3moe", vocab: 512, context: 2048, width: 256, layers: 2,
		heads: 4, kvHeads: 2, headDim: 64, hidden: 512, eps: 1e-6, ropeBase: 1e6,
		experts: experts{count: 8, used: 2, hidden: 256},
	},
	{
		name: "llama-1b", about: "Llama 3.2 1B with a tied vocabulary of 32000",
		family: llama, arch: "llama", vocab: 32000, context: 131072, width: 2048, layers: 16,
		heads: 32, kvHeads: 8, headDim: 64, hidden: 8192, tied: true, eps: 1e-5, ropeBase: 500000, ropeDims: 64,
	},
	{
		name: "llama-8b", about: "Llama 3.1 8B",
		family: llama, arch: "llama", vocab: 128256, context: 131072, width: 4096, layers: 32,
		heads: 32, kvHeads: 8, headDim: 128, hidden: 14336, eps: 1e-5, ropeBase: 500000, ropeDims: 128,
	},
	{
		name: "llama-70b", about: "Llama 3.1 70B",
		family: llama, arch: "llama", vocab: 128256, context: 131072, width: 8192, layers: 80,
		heads: 64, kvHeads: 8, headDim: 128, hidden: 28672, eps: 1e-5, ropeBase: 500000, ropeDims: 128,
	},
	{
		name: "qwen3-0.6b", about: "Qwen3 0.6B",
		family: qwen3, arch: "qwen3", vocab: 151936, context: 40960, width: 1024, layers: 28,
		heads: 16, kvHeads: 8, headDim: 128, hidden: 3072, tied: true, eps: 1e-6, ropeBase: 1e6,
	},
	{
		name: "qwen3-14b", about: "Qwen3 14B",
		family: qwen3, arch: "qwen3", vocab: 151936, context: 40960, width: 5120, layers: 40,
		heads: 40, kvHeads: 8, headDim: 128, hidden: 17408, eps: 1e-6, ropeBase: 1e6,
	},
	{
		name: "qwen3-30b-a3b", about: "Qwen3 30B-A3B 2507: 8 of 128 experts",
		family: qwen3, arch: "qwen3moe", vocab: 151936, context: 262144, width: 2048, layers: 48,
		heads: 32, kvHeads: 4, headDim: 128, hidden: 6144, eps: 1e-6, ropeBase: 1e7,
		experts: experts{count: 128, used: 8, hidden: 768},
	},
	{
		name: "qwen3-next-80b-a3b", about: "Qwen3-Next 80B-A3B, Qwen3-Coder-Next: delta nets, 10 of 512 experts",
		family: qwen35, arch: "qwen3next", vocab: 151936, context: 262144, width: 2048, layers: 48,
		heads: 16, kvHeads: 2, headDim: 256, hidden: 5120, eps: 1e-6, ropeBase: 1e7, ropeDims: 64,
		experts: experts{count: 512, used: 10, hidden: 512, shared: 512},
		delta:   delta{keyHeads: 16, valueHeads: 32, dim: 128, kernel: 4, interval: 4},
	},
	{
		name: "qwen35-27b", about: "Qwen3.5 27B: delta nets, dense",
		family: qwen35, arch: "qwen35", vocab: 248320, context: 262144, width: 5120, layers: 64,
		heads: 24, kvHeads: 4, headDim: 256, hidden: 17408, eps: 1e-6, ropeBase: 1e7, ropeDims: 64,
		delta: delta{keyHeads: 16, valueHeads: 48, dim: 128, kernel: 4, interval: 4},
		mtp:   1,
	},
	{
		name: "qwen35-35b-a3b", about: "Qwen3.5 35B-A3B: delta nets, 8 of 256 experts",
		family: qwen35, arch: "qwen35moe", vocab: 248320, context: 262144, width: 2048, layers: 40,
		heads: 16, kvHeads: 2, headDim: 256, eps: 1e-6, ropeBase: 1e7, ropeDims: 64,
		experts: experts{count: 256, used: 8, hidden: 512, shared: 512},
		delta:   delta{keyHeads: 16, valueHeads: 32, dim: 128, kernel: 4, interval: 4},
		mtp:     1,
	},
	{
		name: "qwen35-122b-a10b", about: "Qwen3.5 122B-A10B: delta nets, 8 of 256 experts",
		family: qwen35, arch: "qwen35moe", vocab: 248320, context: 262144, width: 3072, layers: 48,
		heads: 32, kvHeads: 2, headDim: 256, eps: 1e-6, ropeBase: 1e7, ropeDims: 64,
		experts: experts{count: 256, used: 8, hidden: 1024, shared: 1024},
		delta:   delta{keyHeads: 16, valueHeads: 64, dim: 128, kernel: 4, interval: 4},
		mtp:     1,
	},
	{
		name: "qwen35-397b-a17b", about: "Qwen3.5 397B-A17B: delta nets, 10 of 512 experts",
		family: qwen35, arch: "qwen35moe", vocab: 248320, context: 262144, width: 4096, layers: 60,
		heads: 32, kvHeads: 2, headDim: 256, eps: 1e-6, ropeBase: 1e7, ropeDims: 64,
		experts: experts{count: 512, used: 10, hidden: 1024, shared: 1024},
		delta:   delta{keyHeads: 16, valueHeads: 64, dim: 128, kernel: 4, interval: 4},
		mtp:     1,
	},
	{
		name: "minimax-m2-229b", about: "MiniMax M2, 229B-A10B: 8 of 256 experts",
		family: minimaxM2, arch: "minimax-m2", vocab: 200064, context: 196608, width: 3072, layers: 62,
		heads: 48, kvHeads: 8, headDim: 128, hidden: 1536, eps: 1e-6, ropeBase: 5e6, ropeDims: 64,
		experts: experts{count: 256, used: 8, hidden: 1536},
	},
	{
		name: "step35", about: "Step 3.5 Flash, 196B-A11B: sliding windows, 8 of 288 experts",
		family: step35, arch: "step35", vocab: 128896, context: 262144, width: 4096, layers: 45,
		heads: 64, kvHeads: 8, headDim: 128, hidden: 11264, eps: 1e-5, ropeBase: 5e6, ropeDims: 128, window: 512,
		experts: experts{count: 288, used: 8, hidden: 1280, shared: 1280, dense: 3, scale: 3},
		mtp:     3,
	},
	{
		name: "gpt-oss-20b", about: "gpt-oss 20B: sliding windows, 4 of 32 experts",
		family: gptOSS, arch: "gpt-oss", vocab: 201088, context: 131072, width: 2880, layers: 24,
		heads: 64, kvHeads: 8, headDim: 64, hidden: 2880, eps: 1e-5, ropeBase: 150000, window: 128,
		experts: experts{count: 32, used: 4, hidden: 2880},
	},
	{
		name: "gpt-oss-120b", about: "gpt-oss 120B: sliding windows, 4 of 128 experts",
		family: gptOSS, arch: "gpt-oss", vocab: 201088, context: 131072, width: 2880, layers: 36,
		heads: 64, kvHeads: 8, headDim: 64, hidden: 2880, eps: 1e-5, ropeBase: 150000, window: 128,
		experts: experts{count: 128, used: 4, hidden: 2880},
	},
	{
		name: "glm-4.6v", about: "GLM-4.6V, GLM-4.5-Air, 106B-A12B: 8 of 128 experts",
		family: glm4moe, arch: "glm4moe", vocab: 151552, context: 131072, width: 4096, layers: 46,
		heads: 96, kvHeads: 8, headDim: 128, hidden: 10944, eps: 1e-5, ropeBase: 1e6, ropeDims: 64,
		experts: experts{count: 128, used: 8, hidden: 1408, shared: 1408, dense: 1, scale: 1},
		mtp:     1,
	},
	{
		name: "deepseek-v3.1", about: "DeepSeek V3.1, R1, 671B-A37B: latent attention, 8 of 256 experts",
		family: deepseek2, arch: "deepseek2", vocab: 129280, context: 163840, width: 7168, layers: 61,
		heads: 128, kvHeads: 1, hidden: 18432, eps: 1e-6, ropeBase: 10000, ropeDims: 64,
		experts: experts{count: 256, used: 8, hidden: 2048, shared: 2048, dense: 3, scale: 2.5},
		latent:  latent{qRank: 1536, rank: 512, noPE: 128, valueDim: 128},
	},
	{
		name: "gemma3-1b", about: "Gemma 3 1B: sliding windows",
		family: gemma3, arch: "gemma3", vocab: 262144, context: 32768, width: 1152, layers: 26,
		heads: 4, kvHeads: 1, headDim: 256, hidden: 6912, tied: true, eps: 1e-6, ropeBase: 1e6, window: 512,
	},
	{
		name: "gemma3-4b", about: "Gemma 3 4B: sliding windows",
		family: gemma3, arch: "gemma3", vocab: 262144, context: 131072, width: 2560, layers: 34,
		heads: 8, kvHeads: 4, headDim: 256, hidden: 10240, tied: true, eps: 1e-6, ropeBase: 1e6, ropeFactor: 8, window: 1024,
	},
}
