package kubetest_test

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/distribution/distribution/v3/configuration"
	"github.com/distribution/distribution/v3/registry/handlers"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/inmemory"
)

// registry is a real one, in memory, on the loopback.
type registry struct{ *httptest.Server }

func newRegistry(t *testing.T) registry {
	t.Helper()
	config := &configuration.Configuration{Storage: configuration.Storage{
		"inmemory":    nil,
		"maintenance": configuration.Parameters{"uploadpurging": map[any]any{"enabled": false}},
	}}
	config.Log.Level = "error"
	config.Log.AccessLog.Disabled = true
	config.HTTP.Secret = "s"
	server := httptest.NewServer(handlers.NewApp(t.Context(), config))
	t.Cleanup(server.Close)
	return registry{server}
}

// push puts an image without layers there and returns its reference and digest.
func (r registry) push(t *testing.T, name string) (image, digest string) {
	t.Helper()
	config := `{"architecture":"amd64","os":"linux","rootfs":{"type":"layers","diff_ids":[]}}`
	manifest := fmt.Sprintf(`{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json",`+
		`"config":{"mediaType":"application/vnd.oci.image.config.v1+json","digest":%q,"size":%d},"layers":[]}`, digestOf(config), len(config))
	upload := r.send(t, http.MethodPost, r.URL+"/v2/"+name+"/blobs/uploads/", "", "").Header.Get("Location")
	r.send(t, http.MethodPut, upload+"&digest="+digestOf(config), "application/octet-stream", config)
	r.send(t, http.MethodPut, r.URL+"/v2/"+name+"/manifests/one", "application/vnd.oci.image.manifest.v1+json", manifest)
	return strings.TrimPrefix(r.URL, "http://") + "/" + name + ":one", digestOf(manifest)
}

func digestOf(text string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(text))) }

func (r registry) send(t *testing.T, method, url, kind, body string) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if kind != "" {
		request.Header.Set("Content-Type", kind)
	}
	response, err := r.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if answer, _ := io.ReadAll(response.Body); response.StatusCode >= 300 {
		t.Fatalf("%s %s: %s: %s", method, url, response.Status, answer)
	}
	return response
}
