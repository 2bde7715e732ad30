package registry_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"toa.io/toa/registry"
)

// serve starts a registry and returns its address and what ends it.
func serve(t *testing.T, dir string) (address string, end func()) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- registry.Serve(ctx, listener, dir) }()
	end = func() {
		t.Helper()
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("Serve: %v", err)
			}
		case <-time.After(time.Minute):
			t.Fatal("it does not end")
		}
	}
	t.Cleanup(cancel)
	return "http://" + listener.Addr().String(), end
}

func do(t *testing.T, method, address, mediaType, body string) (status int, text string, header http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", mediaType)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data), resp.Header
}

// push stores an artifact of one blob.
func push(t *testing.T, address, repository, tag, configType, content string) {
	t.Helper()
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(content)))
	status, _, header := do(t, http.MethodPost, address+"/v2/"+repository+"/blobs/uploads/", "", "")
	if status != http.StatusAccepted {
		t.Fatalf("begin an upload: %d", status)
	}
	target, err := url.Parse(header.Get("Location"))
	if err != nil {
		t.Fatal(err)
	}
	query := target.Query()
	query.Set("digest", digest)
	target.RawQuery = query.Encode()
	if status, text, _ := do(t, http.MethodPut, target.String(), "application/octet-stream", content); status != http.StatusCreated {
		t.Fatalf("upload: %d %s", status, text)
	}
	manifest := fmt.Sprintf(`{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
		"config": {"mediaType": %q, "digest": %q, "size": %d}, "layers": []}`, configType, digest, len(content))
	status, text, _ := do(t, http.MethodPut, address+"/v2/"+repository+"/manifests/"+tag, "application/vnd.oci.image.manifest.v1+json", manifest)
	if status != http.StatusCreated {
		t.Fatalf("put the manifest: %d %s", status, text)
	}
}

func TestWhatIsPushedIsListedAndStays(t *testing.T) {
	dir := t.TempDir()
	address, end := serve(t, dir)
	if _, text, _ := do(t, http.MethodGet, address+"/", "", ""); !strings.Contains(text, "Nothing here yet") {
		t.Errorf("of an empty registry: %s", text)
	}
	push(t, address, "team/chart", "1.0.0", "application/vnd.cncf.helm.config.v1+json", "{}")
	push(t, address, "team/image", "one", "application/vnd.oci.image.config.v1+json", strings.Repeat("x", 2<<20))
	end()
	address, end = serve(t, dir)
	defer end()
	_, text, header := do(t, http.MethodGet, address+"/", "", "")
	for _, want := range []string{"team/chart", "1.0.0", "Helm chart", "team/image", "one", "2.0 MiB"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
	if policy := header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") {
		t.Errorf("policy: %q", policy)
	}
	if _, text, _ := do(t, http.MethodGet, address+"/?repository=team/c", "", ""); strings.Contains(text, "team/image") {
		t.Errorf("of some repositories:\n%s", text)
	}
}

func TestPageEscapesWhatOthersHavePushed(t *testing.T) {
	address, end := serve(t, t.TempDir())
	defer end()
	push(t, address, "evil", "tag", "<script>alert(1)</script>", "{}")
	_, text, _ := do(t, http.MethodGet, address+"/?repository="+url.QueryEscape("e<script>"), "", "")
	_, all, _ := do(t, http.MethodGet, address+"/", "", "")
	if strings.Contains(text+all, "<script>") || !strings.Contains(all, "&lt;script&gt;") {
		t.Errorf("not escaped:\n%s\n%s", text, all)
	}
}

func TestOnlyTheRegistryTakesAnything(t *testing.T) {
	address, end := serve(t, t.TempDir())
	defer end()
	for _, request := range []string{"POST /", "DELETE /", "GET /etc/passwd", "GET /debug/vars", "PUT /page"} {
		method, path, _ := strings.Cut(request, " ")
		if status, _, _ := do(t, method, address+path, "", ""); status != http.StatusNotFound && status != http.StatusMethodNotAllowed {
			t.Errorf("%s: %d", request, status)
		}
	}
}

func TestDamagedManifestIsListedAsSuch(t *testing.T) {
	dir := t.TempDir()
	address, end := serve(t, dir)
	defer end()
	push(t, address, "team/image", "one", "application/vnd.oci.image.config.v1+json", "{}")
	damaged := 0
	err := filepath.WalkDir(filepath.Join(dir, "docker", "registry", "v2", "blobs"), func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err == nil && bytes.Contains(data, []byte("schemaVersion")) {
			damaged++
			err = os.WriteFile(path, []byte("none"), 0o600)
		}
		return err
	})
	if err != nil || damaged != 1 {
		t.Fatalf("damaged %d manifests, %v", damaged, err)
	}
	if _, text, _ := do(t, http.MethodGet, address+"/", "", ""); !strings.Contains(text, "<td>damaged") {
		t.Errorf("page:\n%s", text)
	}
}

func TestDirectoryThatCannotBeOne(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := registry.Serve(t.Context(), listener, file); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("got %v, want an error that names it", err)
	}
	if again, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", listener.Addr().String()); err != nil {
		t.Errorf("the address is still taken: %v", err)
	} else {
		_ = again.Close()
	}
}
