// Package vec has the operations of a forward pass on the CPU that are neither
// products of matrices nor attention: gated units, root mean square norms, the
// gated delta rule and smaller ones, on rows of float32.
//
// # One formulation
//
// The bits of a result depend on the operands and Numerics, never on the
// kernel set. Everything is float32. Activations are
//
//	f(x) = x sigmoid(a)    a = x, 1.702 x, or 2 sqrt(2/pi) (x + 0.044715 x^3)
//	sigmoid(a) = n / (1+t) t = exp(-|a|), n = t for a below zero, otherwise 1
//
// where x is multiplied with n first; exp is that of package f32. The third is
// the tanh approximation of GELU, since (1 + tanh y)/2 = sigmoid(2 y). A sum
// of squares has 16 partial sums, element i going to i mod 16 with an fma, and
// adds them pairwise: i with i+8, i+4, i+2, i+1. See DeltaRule for that.
//
// Kernel sets, build tags and generated assembly are as in package attn, whose
// generator makes these as well.
package vec

// Numerics names the formulation above. It changes whenever a result may
// change by a bit.
const Numerics = "vec-1"
