package main

import (
	"archive/tar"
	"errors"
	"io"
	"log"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

func TestRebuildPublishesEachComponent(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	workspace := t.TempDir()
	for path, text := range map[string]string{"a/index.js": "1", "a/lib/x.js": "2", "b/index.js": "3"} {
		file := filepath.Join(workspace, "components", filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	target := strings.TrimPrefix(server.URL, "http://") + "/peer"
	if err := rebuild(t.Context(), workspace, target); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, component := range []string{"a", "b"} {
		maps.Copy(got, pulled(t, target+"/"+component))
	}
	want := map[string]string{"composition/a/index.js": "1", "composition/a/lib/x.js": "2", "composition/b/index.js": "3"}
	if !maps.Equal(got, want) {
		t.Errorf("the images hold %q, want %q", got, want)
	}
	if err := rebuild(t.Context(), t.TempDir(), target); err == nil {
		t.Error("a directory without components was published")
	}
}

// pulled are the files of an image.
func pulled(t *testing.T, reference string) map[string]string {
	t.Helper()
	tag, err := name.NewTag(reference + ":latest")
	if err != nil {
		t.Fatal(err)
	}
	image, err := remote.Image(tag)
	if err != nil {
		t.Fatal(err)
	}
	flat := mutate.Extract(image)
	defer flat.Close()
	files := map[string]string{}
	for archive := tar.NewReader(flat); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		files[header.Name] = string(data)
	}
}
