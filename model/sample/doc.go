// Package sample turns the logits of a model into tokens.
//
// A [Chain] belongs to one sequence. It takes the logits of one position, bends
// them by what the sequence already holds, drops the candidates that its
// settings rule out, and draws one of the rest. The order of its stages is
// fixed, and it is the order that llama.cpp uses by default:
//
//  1. logit bias
//  2. repetition, frequency and presence penalties
//  3. DRY (p-e-w): a token that would prolong a repeated run is held down
//  4. top-nσ (Tang et al., 2024)
//  5. top-k (Fan et al., 2018)
//  6. locally typical (Meister et al., 2022)
//  7. top-p, the nucleus (Holtzman et al., 2019)
//  8. min-p (Nguyen et al., 2024)
//  9. XTC (p-e-w): now and then the most likely candidates are left out
//  10. temperature, fixed or following the entropy
//  11. the draw
//
// Mirostat (Basu et al., 2020) takes the place of steps 4 to 9 and comes after
// the temperature. A temperature of zero takes the place of steps 4 to 11: the
// largest logit wins, the lowest id among equals.
//
// Each step sees the probabilities of the candidates that are still there, so
// that they sum to one. No step removes the last candidate.
//
// # Same seed, same text
//
// A chain has a random stream of its own. A token takes exactly one number
// from it, two with XTC, none at temperature zero; how many candidates there
// are makes no difference, nor does what other sequences do. All arithmetic is
// in float64, in one fixed order, with exponentials and logarithms of the
// package's own and without fused multiply-add, so that a seed gives the same
// tokens from the same logits on every processor.
//
// # Bad logits
//
// A NaN or +Inf among the logits is an error that names the token. A logit of
// -Inf is a token that a grammar has ruled out, and never chosen; if nothing
// else is left, the error is [ErrNoToken]. An error leaves the chain as it was.
//
// # Stopping
//
// A [Stopper] looks for stop strings in the text as it grows, wherever the
// borders of the tokens lie.
package sample
