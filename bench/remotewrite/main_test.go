package main

import (
	"archive/tar"
	"errors"
	"io"
	"testing"
	"testing/fstest"

	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

func TestAssembleHoldsTheFiles(t *testing.T) {
	image, err := assemble(empty.Image, fstest.MapFS{
		"manifest.toa.yaml": {Data: []byte("name: a")},
		"lib/x.js":          {Data: []byte("1")},
	}, "composition/component")
	if err != nil {
		t.Fatal(err)
	}
	flat := mutate.Extract(image)
	defer flat.Close()
	want := map[string]string{"composition/component/manifest.toa.yaml": "name: a", "composition/component/lib/x.js": "1"}
	for archive := tar.NewReader(flat); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		if text, ok := want[header.Name]; !ok || text != string(data) {
			t.Errorf("image holds %s: %q, want %q", header.Name, data, text)
		}
		delete(want, header.Name)
	}
	if len(want) > 0 {
		t.Errorf("image lacks %v", want)
	}
}
