// Package synth makes model files with random weights in the shapes of real
// models, so that hardware, paging and plans can be tried before a download.
//
// A file has what the real one has: the metadata that its architecture reads,
// the tensors with their names and dimensions, mixtures of experts laid out
// expert by expert, and a tokenizer of the right size, which is a plain
// byte-level one. What is made up are the weights. They are drawn in their
// quantized form, never computed as floats and quantized, which makes a file as
// fast as a disk takes it; see recipe.
//
// # What the package promises
//
// The same options give the same bytes, whatever the number of threads.
//
// Weights are scaled so that activations and logits stay of ordinary size
// through any number of layers. Every matrix has independent elements of mean
// zero and, but for a few factors, the standard deviation 1/sqrt(length of a
// row), so that a normalized input gives outputs of unit size. The factors:
//
//   - Feed-forward blocks add vectors of unit size to the residual stream, so it
//     grows as the root of the number of layers and each layer has its say.
//   - Attention and delta nets add a quarter of that. What they add is similar
//     for all tokens of a text; with more of it tokens grow alike from layer to
//     layer until all choose the same experts (Dong, Cordonnier and Loukas,
//     Attention Is Not All You Need, 2021).
//   - Attention scores have a standard deviation of 3, so that attention picks
//     a few tokens and does not average over all.
//   - The embedding starts the stream small, so that what layers add decides.
//   - Logits have a standard deviation of about 2.
//
// Text from such a model is a salad of words, not one word again and again.
//
// # Types
//
// Matrices, the embedding and the head included, are of the type asked for.
// Where the length of rows is no multiple of its block they are of the type
// that llama.cpp's recipes then take: q5_0 for q4_K, q5_1 for q5_K, q8_0 for
// q6_K, iq4_nl for the smaller types with blocks of 256, and f16 where even 32
// does not divide the row. Norms, biases, routers and the small tensors of
// recurrent layers are f32, as in real files.
package synth
