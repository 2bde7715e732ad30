package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// Workspace says what is generated.
type Workspace struct {
	Dir        string
	Components int
	Files      int // in each component
	Size       int // of each file, in bytes; 0 is the size of sources
	Members    int // components in each composition
	Seed       uint64
}

// Write makes the directory with everything in it.
func (w Workspace) Write() error {
	if w.Dir == "" || w.Components < 1 || w.Files < 2 || w.Members < 1 {
		return errors.New("a workspace needs a directory, a component, two files and a member")
	}
	if err := os.Mkdir(w.Dir, 0o755); err != nil {
		return fmt.Errorf("make workspace: %w", err)
	}
	if err := w.put("context.toa.yaml", []byte(w.context())); err != nil {
		return err
	}
	for i := range w.Components {
		if err := w.component(i); err != nil {
			return err
		}
	}
	return nil
}

// context declares compositions of neighbours.
func (w Workspace) context() string {
	var text strings.Builder
	text.WriteString("name: bench\nversion: 0.1.0\n\nregistry:\n  platforms: [linux/amd64]\n  build:\n    image: scratch\n\ncompositions:\n")
	for first := 0; first < w.Components; first += w.Members {
		fmt.Fprintf(&text, "  - name: edge%d\n    components:\n", first/w.Members)
		for i := first; i < min(first+w.Members, w.Components); i++ {
			fmt.Fprintf(&text, "      - bench.c%d\n", i)
		}
	}
	return text.String()
}

// component writes one directory.
func (w Workspace) component(i int) error {
	words := rand.New(rand.NewPCG(w.Seed, uint64(i)))
	for n := range w.Files {
		if err := w.put(w.name(i, n), w.content(i, n, words)); err != nil {
			return err
		}
	}
	return nil
}

// name is the path of file n of component i: a manifest, in every third
// component a package.json, then libraries and operations by turns.
func (w Workspace) name(i, n int) string {
	dir := fmt.Sprintf("components/bench.c%d/", i)
	switch {
	case n == 0:
		return dir + "manifest.toa.yaml"
	case n == 1 && i%3 == 0:
		return dir + "package.json"
	case w.Size > 0:
		return fmt.Sprintf("%sassets/part%d.bin", dir, n)
	case n%2 == 0:
		return fmt.Sprintf("%soperations/do%d.js", dir, n)
	default:
		return fmt.Sprintf("%slib/part%d.js", dir, n)
	}
}

func (w Workspace) content(i, n int, words *rand.Rand) []byte {
	switch {
	case n == 0:
		return fmt.Appendf(nil, "namespace: bench\nname: c%d\n", i)
	case n == 1 && i%3 == 0:
		return fmt.Appendf(nil, "{\n  \"name\": \"c%d\",\n  \"private\": true,\n  \"type\": \"commonjs\"\n}\n", i)
	case w.Size > 0:
		return noise(words, w.Size)
	default:
		return source(words, 512+words.IntN(3584))
	}
}

// List is the paths of all files, one a line.
func (w Workspace) List() string {
	var list strings.Builder
	list.WriteString(filepath.Join(w.Dir, "context.toa.yaml") + "\n")
	for i := range w.Components {
		for n := range w.Files {
			list.WriteString(filepath.Join(w.Dir, filepath.FromSlash(w.name(i, n))) + "\n")
		}
	}
	return list.String()
}

// noise does not compress, as images and archives do not.
func noise(words *rand.Rand, size int) []byte {
	data := make([]byte, size)
	var seed [32]byte
	for i := range seed {
		seed[i] = byte(words.Uint32())
	}
	_, _ = rand.NewChaCha8(seed).Read(data) // it never fails
	return data
}

var vocabulary = strings.Fields(`account amount basket carrier cache charge client copy credit currency
	customer date delivery discount draft entry event fee filter group input invoice item label limit line
	list message method note offer order output page parcel payment price product query quota rate reply
	request result return route sender session shipment state status stock store sum tax ticket total`)

// source is text that looks and compresses like a program.
func source(words *rand.Rand, size int) []byte {
	word := func() string { return vocabulary[words.IntN(len(vocabulary))] }
	text := []byte("'use strict'\n\n")
	for len(text) < size {
		text = fmt.Appendf(text, "const %s = ({ %s, %s }) => %s.%s + %d\n", word(), word(), word(), word(), word(), words.IntN(1000))
	}
	return text
}

func (w Workspace) put(name string, data []byte) error {
	path := filepath.Join(w.Dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		return fmt.Errorf("write file: %w", err)
	}
	return nil
}
