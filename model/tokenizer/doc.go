// Package tokenizer turns text into the token ids of a model's vocabulary and
// ids back into text. Everything it needs is in the metadata of the model file,
// under tokenizer.ggml.
//
// All tokenizers here work in two steps: text is cut into words that are
// independent of each other, and each word becomes tokens.
//
// SentencePiece BPE ("llama"; Kudo and Richardson, SentencePiece, 2018). Spaces
// are written as ▁ and belong to the word that follows. A word starts as single
// characters; of all neighbours whose concatenation is a token, those with the
// highest score are joined first, until none are left. Characters that are no
// tokens become byte tokens <0x00> to <0xFF>.
//
// Byte-level BPE ("gpt2"; Sennrich, Haddow and Birch, Neural Machine Translation
// of Rare Words with Subword Units, 2016; bytes as in Radford et al., Language
// Models are Unsupervised Multitask Learners, 2019). A regular expression that
// differs from model to model, the pre-tokenizer, cuts text into words. A word
// starts as single bytes and neighbours are joined in the order of a list of
// merges. The vocabulary writes a byte as a printable character, a space as Ġ.
// "gemma4" is a mixture: merges in list order, but on characters, with ▁ and byte
// tokens as SentencePiece has them.
//
// WordPiece ("bert"; Schuster and Nakajima, Japanese and Korean Voice Search,
// 2012; Devlin et al., BERT, 2019). Text is lower-cased and stripped of accents;
// a word is cut into the longest tokens from left to right, or is one unknown
// token. GGUF files mark the token that begins a word by ▁ rather than the
// others by ##.
//
// # What the package promises
//
// Encoding takes time linear in the length of text, but for a logarithm in the
// length of a single word.
//
// Text need not be valid UTF-8 and is not normalized. Decoding gives back exactly
// the bytes that were encoded, with these exceptions: the space that SentencePiece
// models put before a text and after a special token; a ▁ in the text, where ▁
// stands for a space; bytes that have no token, which some vocabularies leave out
// because no valid text has them, and which become U+FFFD or the unknown token;
// and WordPiece, which loses case, accents and spacing by design.
//
// Control tokens come out of a text only where the caller asks for them
// (Options.ParseSpecial): nothing that a user writes becomes one otherwise.
//
// Where llama.cpp and the tokenizer.json that a model was published with
// disagree, the latter is followed: marks belong to words in gpt-4o, minimax-m2
// and tekken, and a WordPiece word of more than 100 characters is unknown. Other
// than there, </s> ends generation only where it is a control token, for in many
// vocabularies it is a piece of HTML.
//
// A Tokenizer does not change after New and may be used by several goroutines at
// once.
package tokenizer
