// Command strict reads `go test -json` and writes what `go test` would have
// written, and the skipped tests with their reasons. It fails when a test
// failed, when none ran, or when one was skipped that may not be: on a machine
// that is set up to run everything, a skipped test is a test that was lost.
package main

import (
	"fmt"
	"os"
)

func main() {
	lost, err := Report(os.Stdin, os.Stdout)
	for _, skip := range lost {
		fmt.Fprintln(os.Stderr, "strict: may not be skipped:", skip)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "strict:", err)
	}
	if err != nil || len(lost) > 0 {
		os.Exit(1)
	}
}
