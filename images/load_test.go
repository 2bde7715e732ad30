package images_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"toa.io/toa/images"
	"toa.io/toa/orchestrator"
)

// script writes a program that stands in for docker.
func script(t *testing.T, body string) images.Docker {
	t.Helper()
	path := filepath.Join(t.TempDir(), "docker")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body), 0o755); err != nil {
		t.Fatal(err)
	}
	return images.Docker{Command: path}
}

func TestDockerAnswers(t *testing.T) {
	for name, row := range map[string]struct {
		docker images.Docker
		want   bool
	}{
		"one that is there":        {script(t, `[ "$*" = "version --format {{.Server.Version}}" ] && echo 28.2.2`), true},
		"a client with no engine":  {script(t, "echo no daemon >&2; exit 1"), false},
		"a machine without either": {images.Docker{Command: filepath.Join(t.TempDir(), "docker")}, false},
	} {
		if got := row.docker.Answers(t.Context()); got != row.want {
			t.Errorf("%s: Answers is %t", name, got)
		}
	}
}

func TestDockerLoad(t *testing.T) {
	b := newBench(t, t.TempDir())
	layout := &images.Layout{Dir: t.TempDir(), Blobs: b.blobs}
	s := step(t, "registry.test/shop/composition-edge", "one", map[string]string{"a": files{"index.js": "1"}.write(t, t.TempDir())})
	b.publish(t, layout, s, b.build(t, s))

	loaded := filepath.Join(t.TempDir(), "loaded")
	docker := script(t, `[ "$*" = "load --quiet" ] && cat > `+loaded)
	if err := docker.Load(t.Context(), layout, s.Reference); err != nil {
		t.Fatal(err)
	}
	archive, err := os.Open(loaded)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = archive.Close() }()
	names := map[string]string{}
	for _, e := range untar(t, archive) {
		names[e.Name] = e.content
	}
	if !strings.Contains(names["manifest.json"], `"registry.test/shop/composition-edge:one"`) {
		t.Errorf("docker gets %q", names["manifest.json"])
	}

	for name, row := range map[string]struct {
		docker images.Docker
		tag    string
		want   string
	}{
		"an engine that fails":      {script(t, "cat >/dev/null; echo no space left >&2; exit 1"), "one", "no space left"},
		"one that does not read":    {script(t, "echo refused >&2; exit 1"), "one", "refused"},
		"an image that is gone":     {script(t, "cat >/dev/null"), "two", "is not on disk"},
		"no docker on this machine": {images.Docker{Command: "docker-that-is-not-there"}, "one", "not on this machine"},
	} {
		err := row.docker.Load(t.Context(), layout, orchestrator.Reference{Repository: s.Reference.Repository, Tag: row.tag})
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v, want %q", name, err, row.want)
		}
	}
}
