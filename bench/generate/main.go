// Command generate writes a workspace to measure with: the same flags give the
// same bytes. With -commit it makes the workspace a git repository of its own,
// so that `git status` can be asked what a build without changes answers.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	var w Workspace
	flag.StringVar(&w.Dir, "dir", "", "directory to make; it must not exist")
	flag.IntVar(&w.Components, "components", 100, "number of components")
	flag.IntVar(&w.Files, "files", 10, "files in each component, its manifest included")
	flag.IntVar(&w.Size, "size", 0, "size of each file in bytes (default: sources of 0.5 to 4 KB)")
	flag.IntVar(&w.Members, "members", 4, "components in each composition")
	flag.Uint64Var(&w.Seed, "seed", 1, "seed of what the files say")
	commit := flag.Bool("commit", false, "commit everything to a git repository in the directory")
	list := flag.String("list", "", "write the paths of all files to this file")
	flag.Parse()
	if err := generate(w, *commit, *list); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func generate(w Workspace, commit bool, list string) error {
	if err := w.Write(); err != nil {
		return err
	}
	if list != "" {
		if err := os.WriteFile(list, []byte(w.List()), 0o600); err != nil {
			return fmt.Errorf("write list: %w", err)
		}
	}
	if commit {
		return Commit(w.Dir)
	}
	return nil
}
