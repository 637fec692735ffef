package quantize

import "gorun/tensor"

// recipes is the table of all recipes.
var recipes = []*Recipe{
	{Name: "F32", FileType: 0, Type: tensor.F32},
	{Name: "F16", FileType: 1, Type: tensor.F16},
	{Name: "BF16", FileType: 32, Type: tensor.BF16},
	{Name: "Q8_0", FileType: 7, Type: tensor.Q8_0},
	{Name: "Q5_1", FileType: 9, Type: tensor.Q5_1},
	{Name: "Q5_0", FileType: 8, Type: tensor.Q5_0},
	{Name: "Q4_1", FileType: 3, Type: tensor.Q4_1},
	{Name: "Q4_0", FileType: 2, Type: tensor.Q4_0},

	{Name: "Q6_K", FileType: 18, Type: tensor.Q6_K},
	{
		Name: "Q5_K_M", alias: "Q5_K", FileType: 17, Type: tensor.Q5_K,
		value: when(tensor.Q6_K, sensitive),
		down:  when(tensor.Q6_K, sensitive),
	},
	{Name: "Q5_K_S", FileType: 16, Type: tensor.Q5_K},
	{
		Name: "Q4_K_M", alias: "Q4_K", FileType: 15, Type: tensor.Q4_K,
		value:      when(tensor.Q6_K, sensitive),
		down:       when(tensor.Q6_K, sensitive),
		attnOutput: byExperts(is(tensor.Q5_K), is(none)),
	},
	{
		Name: "Q4_K_S", FileType: 14, Type: tensor.Q4_K,
		value:      when(tensor.Q5_K, below(4)),
		down:       when(tensor.Q5_K, firstPart(8)),
		attnOutput: byExperts(is(tensor.Q5_K), is(none)),
	},
	{
		Name: "Q3_K_L", FileType: 13, Type: tensor.Q3_K,
		value:      is(tensor.Q5_K),
		down:       is(tensor.Q5_K),
		attnOutput: byExperts(is(none), is(tensor.Q5_K)),
	},
	{
		Name: "Q3_K_M", alias: "Q3_K", FileType: 12, Type: tensor.Q3_K,
		value:      first(when(tensor.Q5_K, below(2)), is(tensor.Q4_K)),
		down:       first(when(tensor.Q5_K, firstPart(16)), is(tensor.Q4_K)),
		attnOutput: byExperts(is(tensor.Q5_K), is(tensor.Q4_K)),
	},
	{
		Name: "Q3_K_S", FileType: 11, Type: tensor.Q3_K,
		attnOutput: byExperts(is(tensor.Q5_K), is(none)),
	},
	{
		Name: "Q2_K", FileType: 10, Type: tensor.Q2_K,
		value:      first(when(tensor.Q4_K, grouped), is(tensor.Q3_K)),
		down:       is(tensor.Q3_K),
		attnOutput: byExperts(is(tensor.Q5_K), is(tensor.Q3_K)),
	},
	{
		Name: "Q2_K_S", FileType: 21, Type: tensor.Q2_K,
		value: when(tensor.Q4_K, grouped),
		down:  when(tensor.Q4_K, firstPart(8)),
	},

	{
		Name: "IQ4_NL", FileType: 25, Type: tensor.IQ4_NL,
		value:      when(tensor.Q5_K, grouped),
		down:       when(tensor.Q5_K, firstPart(8)),
		attnOutput: byExperts(is(tensor.Q5_K), is(none)),
	},
	{
		Name: "IQ4_XS", FileType: 30, Type: tensor.IQ4_XS,
		value:      when(tensor.Q5_K, grouped),
		down:       when(tensor.Q5_K, firstPart(8)),
		attnOutput: byExperts(is(tensor.Q5_K), is(none)),
	},
	{Name: "MXFP4_MOE", FileType: 38, Type: tensor.MXFP4, matrix: tensor.Q8_0},

	{
		Name: "Q4_0_ROCMFP4", FileType: 100, Type: tensor.Q4_0_ROCMFP4,
		value:      is(tensor.Q5_K),
		down:       first(when(tensor.Q5_K, from(2, 3)), is(tensor.Q6_K)),
		attnOutput: is(tensor.Q5_K),
		gate:       when(tensor.Q5_K, sensitive),
	},
	{
		Name: "Q4_0_ROCMFP4_LEAN", FileType: 101, Type: tensor.Q4_0_ROCMFP4,
		output: tensor.Q4_0_ROCMFP4, embedding: tensor.Q5_K, tied: tensor.Q5_K,
	},
	{
		Name: "Q4_0_ROCMFP4_COHERENT", FileType: 102, Type: tensor.Q4_0_ROCMFP4,
		output: tensor.Q4_0_ROCMFP4, embedding: tensor.Q6_K, tied: tensor.Q6_K,
	},
	{
		Name: "Q4_0_ROCMFP4_FAST", FileType: 103, Type: tensor.Q4_0_ROCMFP4_FAST,
		output: tensor.Q4_0_ROCMFP4_FAST,
	},
	{
		Name: "Q4_0_ROCMFP4_FAST_COHERENT", FileType: 104, Type: tensor.Q4_0_ROCMFP4_FAST,
		output: tensor.Q4_0_ROCMFP4_FAST, embedding: tensor.Q6_K, tied: tensor.Q6_K,
	},
	{
		Name: "Q4_0_ROCMFP4_STRIX", FileType: 105, Type: tensor.Q4_0_ROCMFP4_FAST,
		output: tensor.Q4_0_ROCMFP4_FAST, embedding: tensor.Q6_K, tied: tensor.Q6_K,
		value: is(tensor.Q4_0_ROCMFP4), key: is(tensor.Q4_0_ROCMFP4),
	},
	{
		Name: "Q4_0_ROCMFP4_STRIX_LEAN", FileType: 106, Type: tensor.Q4_0_ROCMFP4_FAST,
		output: tensor.Q4_0_ROCMFP4_FAST, embedding: tensor.Q5_K, tied: tensor.Q5_K,
		value: is(tensor.Q4_0_ROCMFP4), key: is(tensor.Q4_0_ROCMFP4),
	},
	{
		Name: "Q8_0_ROCMFPX", FileType: 111, Type: tensor.Q8_0_ROCMFPX, plainEight: true,
		output: tensor.Q8_0_ROCMFPX,
	},
	{
		Name: "Q6_0_ROCMFPX", FileType: 110, Type: tensor.Q6_0_ROCMFPX, plainEight: true,
		output:     tensor.Q6_0_ROCMFPX,
		query:      when(tensor.Q8_0_ROCMFPX, firstPart(16)),
		key:        when(tensor.Q8_0_ROCMFPX, firstPart(16)),
		value:      when(tensor.Q8_0_ROCMFPX, firstPart(16)),
		attnOutput: when(tensor.Q8_0_ROCMFPX, firstPart(16)),
		down:       when(tensor.Q8_0_ROCMFPX, anyOf(firstPart(16), from(7, 8))),
	},
	{
		Name: "Q6_0_ROCMFPX_LEAN", FileType: 116, Type: tensor.Q6_0_ROCMFPX, plainEight: true,
		output: tensor.Q6_0_ROCMFPX,
	},
	{
		Name: "Q3_0_ROCMFPX", FileType: 112, Type: tensor.Q3_0_ROCMFPX, plainEight: true,
		output: tensor.Q4_0_ROCMFP4_FAST, embedding: tensor.Q4_0_ROCMFP4_FAST,
		query:      is(tensor.Q5_K),
		key:        first(when(tensor.Q4_K, from(1, 2)), is(tensor.Q5_K)),
		value:      first(when(tensor.Q4_K, from(1, 2)), is(tensor.Q5_K)),
		attnOutput: is(tensor.Q5_K),
		gate:       when(tensor.Q6_0_ROCMFPX, anyOf(firstPart(16), sensitive)),
		down:       when(tensor.Q5_K, anyOf(firstPart(16), sensitive, from(2, 3))),
	},
	{Name: "Q2_0_ROCMFPX", FileType: 119, Type: tensor.Q2_0_ROCMFPX, plainEight: true},
}
