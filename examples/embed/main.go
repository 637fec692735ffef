// Command embed writes text with a model that is part of the program. Give it
// a prompt; model.Open would take a file.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"gorun/demo"
	"gorun/model"
)

func main() {
	file, err := demo.Open()
	check(err)
	m, err := model.New(context.Background(), file, model.Options{})
	check(err)
	defer m.Close()
	prompt := strings.Join(os.Args[1:], " ")
	for token, err := range m.NewSession().Complete(context.Background(), prompt, model.Generation{MaxTokens: 60}) {
		check(err)
		fmt.Print(token.Text)
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
