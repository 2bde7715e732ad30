package docker_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"toa.io/toa/images"
	"toa.io/toa/internal/enginetest"
	"toa.io/toa/orchestrator"
	"toa.io/toa/templates"
)

// runtimeRegistry is an npm registry that has a runtime, version 1.0.0.
func runtimeRegistry(t *testing.T) string {
	t.Helper()
	manifest := map[string]any{"name": "@toa.io/runtime", "version": "1.0.0", "bin": map[string]string{"toa": "toa.js"}}
	raw, err := json.Marshal(manifest)
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	out := tar.NewWriter(zip)
	for name, content := range map[string]string{"package.json": string(raw), "toa.js": "#!/usr/bin/env node\n"} {
		header := &tar.Header{Name: "package/" + name, Mode: 0o755, Size: int64(len(content))}
		if err := out.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(out, content); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(out.Close(), zip.Close()); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	manifest["dist"] = map[string]string{"tarball": server.URL + "/runtime.tgz"}
	mux.HandleFunc("/runtime.tgz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(packed.Bytes()) })
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{
			"name": "@toa.io/runtime", "dist-tags": map[string]string{"latest": "1.0.0"}, "versions": map[string]any{"1.0.0": manifest},
		})
	})
	return server.URL
}

// The image that compositions start from, made of a registry's runtime.
func TestBuildxMakesTheRuntime(t *testing.T) {
	r := newLive(t)
	base := enginetest.Node(t, r.host)
	made, err := images.Runtime{
		Base:     base,
		Resolver: &images.Resolver{Client: r.client, Blobs: r.blobs},
		Builder:  r.builder,
		Registry: r.remote(),
	}.Make(t.Context(), r.host+"/toa/runtime", "1.0.0", []string{orchestrator.HostPlatform()}, templates.NPM{Registry: runtimeRegistry(t)})
	if err != nil {
		t.Fatalf("Make: %v\n%s", err, r.seen.text())
	}
	image := r.pull(t, made, strings.TrimPrefix(orchestrator.HostPlatform(), "linux/"))
	got := below(t, image, "toa/node_modules")
	if got[".bin/toa"] != "->../@toa.io/runtime/toa.js" || !strings.HasPrefix(got["@toa.io/runtime/toa.js"], "x:#!/usr/bin/env node") {
		t.Errorf("files below /toa/node_modules: %q", got)
	}
	file, err := image.ConfigFile()
	if err != nil || !strings.Contains(strings.Join(file.Config.Env, "\n")+"\n", "PATH=/toa/node_modules/.bin:") {
		t.Errorf("environment: got %q, %v", file.Config.Env, err)
	}
	r.left(t)
}
