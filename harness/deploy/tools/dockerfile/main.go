// Reads a Dockerfile as BuildKit does, without building anything, and fails with what is wrong about it: syntax,
// unknown instructions and flags, stages that do not exist, and BuildKit's own lint rules.
package main

import (
	"bytes"
	"fmt"
	"os"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/linter"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

func main() {
	if err := check(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func check(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	parsed, err := parser.Parse(bytes.NewReader(text))
	if err != nil {
		return err
	}
	for _, warning := range parsed.Warnings {
		return fmt.Errorf("%s", warning.Short)
	}
	var problem error
	lint := linter.New(&linter.Config{
		Warn: func(rule, _, _, message string, _ []parser.Range) {
			problem = fmt.Errorf("%s: %s", rule, message)
		},
	})
	stages, _, err := instructions.Parse(parsed.AST, lint)
	if err != nil {
		return err
	}
	for _, stage := range stages {
		fmt.Printf("%s: %d instructions\n", stage.BaseName, len(stage.Commands))
	}
	return problem
}
