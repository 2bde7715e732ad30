package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

// A push takes no more memory for larger layers. Four of TOA_TEST_LAYER MiB
// (default 96; `make memory` takes 2048) go from a base on disk to a registry
// that keeps nothing. GoogleContainerTools/kaniko#1680
func TestMemoryOfAPush(t *testing.T) {
	size := int64(96)
	if text := os.Getenv("TOA_TEST_LAYER"); text != "" {
		var err error
		if size, err = strconv.ParseInt(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	least, most := memoryOfAPush(t, 1), memoryOfAPush(t, size)
	t.Logf("%d MiB for 4 layers of 1 MiB, %d MiB for 4 of %d MiB", least, most, size)
	if grown := most - least; grown > 64 {
		t.Errorf("larger layers take %d MiB more", grown)
	}
	if os.Getenv("TOA_TEST_BINARY") != "" && most > 300 {
		t.Errorf("the push took %d MiB, want 300 at most", most)
	}
}

// memoryOfAPush is the most MiB that the process had, of layers of so many MiB.
func memoryOfAPush(t *testing.T, size int64) int64 {
	t.Helper()
	dir, sink := t.TempDir(), &sink{}
	server := httptest.NewServer(sink)
	t.Cleanup(server.Close)
	layers := sparseBase(t, filepath.Join(dir, "shop", "base"), size<<20)
	writeFiles(t, filepath.Join(dir, "shop"), map[string]string{
		"context.toa.yaml":               "name: shop\namqp: amqp://broker\nresources: null\nregistry: {platforms: [linux/amd64], build: {image: 'oci-layout://base'}}\n",
		"components/a/manifest.toa.yaml": "name: a\n",
	})
	cmd, _, log := process(t, dir, "push", "-C", filepath.Join(dir, "shop"), "--registry", strings.TrimPrefix(server.URL, "http://"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	sink.pid.Store(int64(cmd.Process.Pid))
	if err := cmd.Wait(); err != nil {
		t.Fatalf("push: %v\n%s", err, log)
	}
	if sink.bytes.Load() < layers*(size<<20) {
		t.Errorf("%d bytes were sent, want %d layers of %d MiB", sink.bytes.Load(), layers, size)
	}
	if sink.memory.Load() == 0 {
		t.Skip("this system does not tell how much memory a process takes")
	}
	return sink.memory.Load() >> 10
}

func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for path, content := range files {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		mode := os.FileMode(0o644)
		if strings.HasPrefix(content, "#!") {
			mode = 0o755
		}
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
	}
}

// sparseBase writes an image layout of four layers, of which each is a byte and
// zeros that take no place.
func sparseBase(t *testing.T, dir string, size int64) (layers int64) {
	t.Helper()
	blobs := filepath.Join(dir, "blobs", "sha256")
	if err := os.MkdirAll(blobs, 0o755); err != nil {
		t.Fatal(err)
	}
	blob := func(kind string, raw []byte) map[string]any {
		digest := fmt.Sprintf("%x", sha256.Sum256(raw))
		if err := os.WriteFile(filepath.Join(blobs, digest), raw, 0o644); err != nil {
			t.Fatal(err)
		}
		return map[string]any{"mediaType": "application/vnd.oci.image." + kind + "+json", "digest": "sha256:" + digest, "size": len(raw)}
	}
	var descriptors []any
	var ids []string
	for i := range 4 {
		digest := sparseFile(t, blobs, byte(i+1), size)
		ids = append(ids, digest)
		descriptors = append(descriptors, map[string]any{"mediaType": "application/vnd.oci.image.layer.v1.tar", "digest": digest, "size": size})
	}
	config := blob("config.v1", encode(t, map[string]any{"os": "linux", "architecture": "amd64", "rootfs": map[string]any{"type": "layers", "diff_ids": ids}}))
	manifest := blob("manifest.v1", encode(t, map[string]any{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": config, "layers": descriptors,
	}))
	for name, value := range map[string]any{
		"index.json": map[string]any{"schemaVersion": 2, "manifests": []any{manifest}},
		"oci-layout": map[string]any{"imageLayoutVersion": "1.0.0"},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), encode(t, value), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return int64(len(ids))
}

func sparseFile(t *testing.T, dir string, first byte, size int64) (digest string) {
	t.Helper()
	file, err := os.Create(filepath.Join(dir, fmt.Sprint("layer", first)))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.Write([]byte{first}); err != nil {
		t.Fatal(err)
	}
	if err := file.Truncate(size); err != nil {
		t.Fatal(err)
	}
	hash := sha256.New()
	if _, err := io.Copy(hash, io.NewSectionReader(file, 0, size)); err != nil {
		t.Fatal(err)
	}
	digest = fmt.Sprintf("%x", hash.Sum(nil))
	if err := os.Rename(file.Name(), filepath.Join(dir, digest)); err != nil {
		t.Fatal(err)
	}
	return "sha256:" + digest
}

func encode(t *testing.T, value any) []byte {
	t.Helper()
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// sink takes all that is pushed, and keeps how much it was. When a manifest
// comes, which is last, it looks at the most memory that the client had, in KiB:
// what the system tells of a process that has ended counts its parent's, too.
type sink struct{ bytes, pid, memory atomic.Int64 }

func (s *sink) look() {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.pid.Load()))
	if err != nil {
		return
	}
	if _, rest, ok := strings.Cut(string(status), "VmHWM:"); ok {
		var kib int64
		if _, err := fmt.Sscan(rest, &kib); err == nil {
			s.memory.Store(kib)
		}
	}
}

func (s *sink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	hash := sha256.New()
	n, err := io.Copy(hash, r.Body)
	s.bytes.Add(n)
	digest := fmt.Sprintf("sha256:%x", hash.Sum(nil))
	switch {
	case err != nil, r.Method == http.MethodPut && r.URL.Query().Get("digest") != digest && !strings.Contains(r.URL.Path, "/manifests/"):
		w.WriteHeader(http.StatusBadRequest)
	case r.Method == http.MethodPost:
		w.Header().Set("Location", r.URL.Path+"1")
		w.WriteHeader(http.StatusAccepted)
	case r.Method == http.MethodPut:
		s.look()
		w.Header().Set("Docker-Content-Digest", digest)
		w.WriteHeader(http.StatusCreated)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}
