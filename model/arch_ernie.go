package model

// ernie45 describes the dense models of ERNIE 4.5 (Baidu, "ERNIE 4.5 Technical
// Report"): the shape of Llama.
func ernie45(k *keys, _ describeOptions) *Spec { return transformer(k) }
