package sample_test

import (
	"fmt"

	"gorun/model/sample"
)

// The loop of a generation: sample, accept, write, until a stop.
func Example() {
	words := []string{"tick", " tock", "\n", "<end>"}
	const end = 3
	forward := func(last int32) []float32 { // a model of four tokens
		logits := []float32{0, 0, 0, 0}
		logits[(last+1)%4] = 20
		return logits
	}

	p := sample.Defaults()
	p.Seed = 1
	chain, err := sample.New(p, len(words), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	stop := sample.NewStopper([]string{"\n\n"}, end)
	last := int32(0) // the prompt
	chain.Accept(last)
	for {
		token, err := chain.Sample(forward(last))
		if err != nil {
			fmt.Println(err)
			return
		}
		if stop.IsStop(token.ID) {
			break
		}
		last = token.ID
		chain.Accept(last)
		text, stopped := stop.Write(words[last])
		fmt.Printf("%q\n", text)
		if stopped {
			break
		}
	}
	fmt.Printf("%q\n", stop.Flush())
	// Output:
	// " tock"
	// ""
	// "\n"
}
