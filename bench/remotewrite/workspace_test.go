package main

import (
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

func TestPublishPutsEachComponentOnTheBase(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	dir := t.TempDir()
	for _, component := range []string{"a", "b"} {
		file := filepath.Join(dir, "components", component, "manifest.toa.yaml")
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("name: "+component), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tag := range []string{"1", "2"} { // the first makes the base
		if err := publish(t.Context(), dir, host+"/base:1", host+"/peer:"+tag); err != nil {
			t.Fatal(err)
		}
		for _, component := range []string{"a", "b"} {
			ref, err := name.NewTag(host + "/peer/" + component + ":" + tag)
			if err != nil {
				t.Fatal(err)
			}
			image, err := remote.Image(ref)
			if err != nil {
				t.Fatal(err)
			}
			if layers, err := image.Layers(); err != nil || len(layers) != 4 {
				t.Errorf("%s: %d layers, %v, want the base's three and one", ref, len(layers), err)
			}
		}
	}
	if err := publish(t.Context(), t.TempDir(), host+"/base:1", host+"/peer:3"); err == nil {
		t.Error("a directory without components was published")
	}
}
