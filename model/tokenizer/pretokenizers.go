package tokenizer

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gorun/gguf"
)

// The comments give the regular expressions that the rules stand for. They are
// those of the models' own tokenizer.json; what follows each other in a list of
// stages is a sequence of pre-tokenizers there.

var (
	blank  = of(" ")
	prefix = notIn(newline | letter | number) // [^\r\n\p{L}\p{N}]
	digits = in(number)
	signs  = notIn(space | letter | number) // [^\s\p{L}\p{N}]
	spaces = run(anySpace)                  // \s+
	eol    = in(newline)                    // [\r\n]
)

// gpt2 is
//
//	's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
var gpt2 = match(
	contraction,
	word(blank, anyLetter),
	word(blank, digits),
	word(blank, signs),
	spacesBefore,
	spaces,
)

// llama3 is what most later models have: words may begin with any one sign,
// signs take line ends along, and spaces are cut off lines. They differ in
// contractions and numbers:
//
//	(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|
//	 ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
func llama3(numbers rule) stage {
	return match(
		anyContraction,
		word(prefix, anyLetter),
		numbers,
		then(word(blank, signs), eol),
		lines,
		spacesBefore,
		spaces,
	)
}

// gpt4o tells words by case, so that CamelCase is two:
//
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|
//	\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
func gpt4o(words, numbers rule) stage {
	return match(
		words,
		numbers,
		then(word(blank, signs), of("\r\n/")),
		lines,
		spacesBefore,
		spaces,
	)
}

// asciiWord is [!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+.
var asciiWord = pair(between("!/:@[`{~"), between("AZaz"))

// markedWord is [^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+.
var markedWord = word(notIn(newline|letter|punct|symbolic), in(letter|mark))

// deepseek3 is, after numbers \p{N}{1,3} and text [一-龥぀-ゟ゠-ヿ]+,
//
//	[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|
//	 ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
var deepseek3 = []stage{
	match(upTo(3, digits)),
	match(run(between("一龥぀ゟ゠ヿ"))),
	match(
		asciiWord,
		markedWord,
		then(word(blank, in(punct|symbolic)), eol),
		lines,
		spacesBefore,
		spaces,
	),
}

// cased are the letters that DeepSeek's first models list one by one: those with
// two cases, of the Unicode version of the time. They are escaped here because
// some are equivalent to others, and editors exchange them.
var cased = between("" +
	"AZaz\u00B5\u00B5\u00C0\u00D6\u00D8\u00F6\u00F8\u01BA\u01BC\u01BF\u01C4\u0293\u0295\u02AF\u0370\u0373" +
	"\u0376\u0377\u037B\u037D\u037F\u037F\u0386\u0386\u0388\u038A\u038C\u038C\u038E\u03A1\u03A3\u03F5" +
	"\u03F7\u0481\u048A\u052F\u0531\u0556\u10A0\u10C5\u13A0\u13F5\u13F8\u13FD\u1C90\u1CBA\u1CBD\u1CBF" +
	"\u1D00\u1D2B\u1D6B\u1D77\u1D79\u1D9A\u1E00\u1F15\u1F18\u1F1D\u1F20\u1F45\u1F48\u1F4D\u1F50\u1F57" +
	"\u1F59\u1F59\u1F5B\u1F5B\u1F5D\u1F5D\u1F5F\u1F7D\u1F80\u1FB4\u1FB6\u1FBC\u1FBE\u1FBE\u1FC2\u1FC4" +
	"\u1FC6\u1FCC\u1FD0\u1FD3\u1FD6\u1FDB\u1FE0\u1FEC\u1FF2\u1FF4\u1FF6\u1FFC\u2102\u2102\u2107\u2107" +
	"\u210A\u2113\u2115\u2115\u2119\u211D\u2124\u2124\u2126\u2126\u2128\u2128\u212A\u212D\u212F\u2134" +
	"\u2139\u2139\u213C\u213F\u2145\u2149\u214E\u214E\u2183\u2184\u2C00\u2C7B\u2C7E\u2CE4\u2CEB\u2CEE" +
	"\u2CF2\u2CF3\uA640\uA66D\uA680\uA69B\uA722\uA76F\uA771\uA787\uA78B\uA78E\uAB70\uABBF\uFB00\uFB06" +
	"\uFB13\uFB17\uFF21\uFF3A\uFF41\uFF5A\U00010400\U0001044F\U000104B0\U000104D3\U000104D8\U000104FB" +
	"\U00010C80\U00010CB2\U00010CC0\U00010CF2\U000118A0\U000118DF\U0001E900\U0001E943")

// asianText is [一-龥ࠀ-一가-퟿]+.
var asianText = run(between("一龥ࠀ一가\uD7FF"))

// bloom is ` ?[^(\s|.,!?…。，、।۔،)]+`.
var bloom = match(word(blank, and(not(anySpace), not(of("(|.,!?…。，、।۔،)")))))

// anyLines is [^\n]+|[\n]+.
var anyLines = match(run(not(of("\n"))), run(of("\n")))

// preTokenizers are known by the names that llama.cpp gives them in
// tokenizer.ggml.pre.
var preTokenizers = []preTokenizer{
	{
		names: []string{"default"},
		stages: []stage{
			match(run(or(in(punct), of("$+<=>^~|")))),
			gpt2,
			match(run(digits)),
			match(threeDigits),
		},
	}, {
		names: []string{
			"gpt-2", "phi-2", "mpt", "olmo", "jais", "trillion", "granite-docling", "exaone4", "gigachat", "a.x-4.0",
			"mellum", "modern-bert", "roberta-bpe", "jina-es", "jina-de", "jina-v1-en", "jina-v2-es", "jina-v2-de",
			"jina-v2-code",
		},
		stages: []stage{gpt2},
	}, {
		names: []string{
			"starcoder", "refact", "command-r", "smollm", "codeshell", "exaone", "minerva-7b", "mellum2",
		},
		stages: []stage{match(single(digits)), gpt2},
	}, {
		names: []string{"falcon"},
		stages: []stage{
			match(run(or(in(punct), of("$+<=>^~|`")))),
			gpt2,
			match(threeDigits),
		},
	}, {
		names: []string{
			"llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2", "jina-v5-nano",
		},
		stages:       []stage{llama3(upTo(3, digits))},
		ignoreMerges: true,
		addBOS:       true,
	}, {
		names:  []string{"dbrx", "smaug-bpe", "glm4", "chatglm-bpe"},
		stages: []stage{llama3(upTo(3, digits))},
	}, {
		names: []string{
			"qwen2", "deepseek-r1-qwen", "kormo", "f2llmv2", "megrez", "stablelm2", "hunyuan", "solar-open", "grok-2",
			"bailingmoe", "bailingmoe2", "llada-moe",
		},
		stages: []stage{llama3(single(digits))},
	}, {
		// As qwen2, on each line.
		names:  []string{"laguna"},
		stages: []stage{anyLines, llama3(single(digits))},
	}, {
		names:        []string{"minicpm5"},
		stages:       []stage{match(upTo(3, digits)), llama3(run(digits))},
		ignoreMerges: true,
	}, {
		// As qwen2, but marks belong to words:
		// (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}|
		//  ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
		names: []string{"qwen35"},
		stages: []stage{match(
			anyContraction,
			word(prefix, in(letter|mark)),
			single(digits),
			then(word(blank, notIn(space|letter|mark|number)), eol),
			lines,
			spacesBefore,
			spaces,
		)},
	}, {
		// As qwen2 without contractions, as Turkish has them.
		names: []string{"ufakzeka"},
		stages: []stage{match(
			word(prefix, anyLetter),
			single(digits),
			then(word(blank, signs), eol),
			lines,
			spacesBefore,
			spaces,
		)},
	}, {
		// As qwen2, but signs do not take line ends along.
		names: []string{"seed-coder"},
		stages: []stage{match(
			anyContraction,
			word(prefix, anyLetter),
			single(digits),
			word(blank, signs),
			lines,
			spacesBefore,
			spaces,
		)},
	}, {
		// (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}|
		//  ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+
		names: []string{"exaone-moe"},
		stages: []stage{match(
			anyContraction,
			wordsWithSpaces,
			single(digits),
			thenOne(word(blank, signs), of("\r\n/")),
			lines,
			spacesBefore,
			spaces,
		)},
	}, {
		names:  []string{"gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2"},
		stages: []stage{gpt4o(caseWord(in(letter|mark), anyContraction), upTo(3, digits))},
	}, {
		names:        []string{"granite-embed-multi-97m"},
		stages:       []stage{gpt4o(caseWord(in(letter|mark), anyContraction), upTo(3, digits))},
		ignoreMerges: true,
	}, {
		names:        []string{"tekken"},
		stages:       []stage{gpt4o(caseWord(in(letter|mark), nil), single(digits))},
		ignoreMerges: true,
		addBOS:       true,
	}, {
		names:  []string{"tiny_aya", "cohere2moe"},
		stages: []stage{digitGroups, gpt4o(caseWord(in(letter|mark), anyContraction), upTo(3, digits))},
	}, {
		// [가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|[一-龥぀-ゟ゠-ヿ]+ first.
		names: []string{"youtu"},
		stages: []stage{
			match(
				run(between("가힣ㄱㆎ")),
				run(between("！！……“”‘’——：：；；，，、〿︰﹏")),
				run(between("ㄅㄯ")),
				run(between("一龥぀ゟ゠ヿ")),
			),
			gpt4o(caseWord(in(letter|mark), anyContraction), single(digits)),
		},
		ignoreMerges: true,
	}, {
		// As gpt-4o, but Chinese is in words of its own, \p{Han}+, and / is
		// no line end.
		names: []string{"kimi-k2"},
		stages: []stage{match(
			run(in(han)),
			caseWord(notIn(han), anyContraction),
			upTo(3, digits),
			then(word(blank, signs), eol),
			lines,
			spacesBefore,
			spaces,
		)},
	}, {
		names: []string{"deepseek-llm"},
		stages: []stage{
			match(single(eol)),
			match(word(anySpace, cased)),
			match(word(anySpace, between("!/:~！／：～‘‟\u3000。"))), // \s?[!-/:-~！-／：-～‘-‟　-。]+
			trailingSpaces,
			match(asianText),
			match(run(digits)),
		},
	}, {
		names: []string{"deepseek-coder"},
		stages: []stage{
			match(single(eol)),
			match(word(anySpace, anyLetter)),
			match(word(anySpace, in(punct))),
			match(asianText),
			match(single(digits)),
		},
	}, {
		names:  []string{"deepseek-v3", "hunyuan-dense", "joyai-llm", "hy_v4"},
		stages: deepseek3,
	}, {
		// As deepseek-v3, but line ends are words of their own.
		names: []string{"spark2_5"},
		stages: []stage{
			deepseek3[0],
			deepseek3[1],
			match(
				asciiWord,
				markedWord,
				word(blank, in(punct|symbolic)),
				single(eol),
				spacesBefore,
				spaces,
			),
			match(single(digits)),
		},
	}, {
		names:  []string{"bloom", "poro-chat", "gpt3-finnish"},
		stages: []stage{bloom},
	}, {
		names:  []string{"viking"},
		stages: []stage{bloom, match(single(digits))},
	}, {
		names:      []string{"gemma4", "granite-embed-multi-311m"},
		stages:     []stage{anyLines},
		characters: true,
		alwaysBOS:  true,
	}, {
		names:      []string{"sarvam-moe"},
		stages:     []stage{anyLines},
		characters: true,
	},
}

var preTokenizersByName = func() map[string]*preTokenizer {
	m := map[string]*preTokenizer{}
	for i := range preTokenizers {
		for _, name := range preTokenizers[i].names {
			m[name] = &preTokenizers[i]
		}
	}
	return m
}()

// findPreTokenizer returns the pre-tokenizer that the file names. Files from
// before there were names get the one called default.
func findPreTokenizer(meta *gguf.Metadata) (*preTokenizer, error) {
	name, ok, err := meta.String(keyPre)
	if err != nil {
		return nil, err
	}
	if !ok || name == "" {
		name = "default"
	}
	if model, _, _ := meta.String(keyModel); model == "gemma4" {
		name = model
	}
	p, ok := preTokenizersByName[name]
	if !ok {
		return nil, fmt.Errorf("%s is %q, which is not supported (known: %s)", keyPre, name, sortedNames(preTokenizersByName))
	}
	return p, nil
}

// sortedNames lists the keys of a table in a message.
func sortedNames[V any](m map[string]V) string {
	return strings.Join(slices.Sorted(maps.Keys(m)), ", ")
}
