// Command embed continues its arguments with a model that is part of it.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"gorun/demo"
	"gorun/model"
)

func main() {
	file, err := demo.Open()
	if err != nil {
		panic(err)
	}
	m, err := model.New(context.Background(), file, model.Options{}) // or model.Open, with a path
	if err != nil {
		panic(err)
	}
	for token, err := range m.NewSession().Complete(context.Background(), strings.Join(os.Args[1:], " "), model.Generation{MaxTokens: 60}) {
		if err != nil {
			panic(err)
		}
		fmt.Print(token.Text)
	}
}
