package model_test

import (
	"context"
	"fmt"
	"log"

	"gorun/demo"
	"gorun/model"
)

// A program that writes text with the embedded model; model.Open takes a file.
func Example() {
	ctx := context.Background()
	file, err := demo.Open()
	if err != nil {
		log.Fatal(err)
	}
	m, err := model.New(ctx, file, model.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	session := m.NewSession()
	defer session.Close()
	for token, err := range session.Complete(ctx, "Dorothy", model.Generation{Stop: []string{","}}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(token.Text)
	}
	// Output: was quite as the Munchkins
}
