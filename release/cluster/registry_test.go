package cluster

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/distribution/distribution/v3/configuration"
	"github.com/distribution/distribution/v3/registry/handlers"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/inmemory"
	"github.com/sirupsen/logrus"
)

// testRegistry is one real registry for all tests, in memory, on the loopback.
var testRegistry = sync.OnceValue(func() *httptest.Server {
	logrus.SetLevel(logrus.PanicLevel) // the registry's
	config := &configuration.Configuration{Storage: configuration.Storage{"inmemory": nil}}
	config.HTTP.Secret = "s"
	return httptest.NewServer(handlers.NewApp(context.Background(), config))
})

// pushed puts an image without layers into the registry, and returns its
// reference with its digest. What is in it decides the digest.
func pushed(t testing.TB, name, content string) string {
	t.Helper()
	server := testRegistry()
	config := fmt.Sprintf(`{"architecture":"amd64","os":"linux","author":%q,"rootfs":{"type":"layers","diff_ids":[]}}`, content)
	manifest := fmt.Sprintf(`{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json",`+
		`"config":{"mediaType":"application/vnd.oci.image.config.v1+json","digest":%q,"size":%d},"layers":[]}`, sha(config), len(config))
	upload := send(t, http.MethodPost, server.URL+"/v2/"+name+"/blobs/uploads/", "", "").Header.Get("Location")
	send(t, http.MethodPut, upload+"&digest="+sha(config), "application/octet-stream", config)
	send(t, http.MethodPut, server.URL+"/v2/"+name+"/manifests/"+content, "application/vnd.oci.image.manifest.v1+json", manifest)
	return strings.TrimPrefix(server.URL, "http://") + "/" + name + ":" + content + "@" + sha(manifest)
}

func sha(text string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(text))) }

func send(t testing.TB, method, url, kind, body string) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if kind != "" {
		request.Header.Set("Content-Type", kind)
	}
	response, err := testRegistry().Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if answer, _ := io.ReadAll(response.Body); response.StatusCode >= 300 {
		t.Fatalf("%s %s: %s: %s", method, url, response.Status, answer)
	}
	return response
}
