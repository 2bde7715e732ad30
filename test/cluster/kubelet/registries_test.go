package kubelet

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

const (
	there = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	other = "sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

func TestPull(t *testing.T) {
	open := serve(t, func(*http.Request) bool { return true })
	closed := serve(t, func(r *http.Request) bool {
		user, password, _ := r.BasicAuth()
		return user == "u" && password == "p"
	})
	right, wrong := secret(t, closed, "u", "p"), secret(t, closed, "u", "wrong")
	for name, c := range map[string]struct {
		image   string
		secrets []corev1.Secret
		id, err string
	}{
		"by tag":                   {image: open + "/shop/a:one", id: open + "/shop/a@" + there},
		"by digest":                {image: open + "/shop/a@" + there, id: open + "/shop/a@" + there},
		"by both":                  {image: open + "/shop/a:two@" + there, id: open + "/shop/a@" + there},
		"absent tag":               {image: open + "/shop/a:two", err: "/shop/a:two: not found"},
		"absent digest":            {image: open + "/shop/a@" + other, err: "@" + other + ": not found"},
		"no image at all":          {image: open + "/shop/text:one", err: "unexpected media type text/plain"},
		"not a name":               {image: "A B", err: `couldn't parse image name "A B": invalid reference format`},
		"without a secret":         {image: closed + "/shop/a:one", err: errUnauthorized.Error()},
		"with a secret":            {image: closed + "/shop/a:one", secrets: []corev1.Secret{right}, id: closed + "/shop/a@" + there},
		"with a wrong one first":   {image: closed + "/shop/a:one", secrets: []corev1.Secret{wrong, right}, id: closed + "/shop/a@" + there},
		"with a wrong one only":    {image: closed + "/shop/a:one", secrets: []corev1.Secret{wrong}, err: errUnauthorized.Error()},
		"secret of another":        {image: open + "/shop/a:one", secrets: []corev1.Secret{right}, id: open + "/shop/a@" + there},
		"nobody listens":           {image: "127.0.0.1:1/shop/a:one", err: "connection refused"},
		"a registry that is ill":   {image: open + "/shop/ill:one", err: "500 Internal Server Error"},
		"default tag":              {image: open + "/shop/a", err: "/shop/a:latest: not found"},
		"in words of a runtime":    {image: open + "/shop/a:two", err: `failed to pull and unpack image "` + open + `/shop/a:two": failed to resolve reference`},
		"absent behind a password": {image: closed + "/shop/a:two", secrets: []corev1.Secret{right}, err: "not found"},
	} {
		t.Run(name, func(t *testing.T) {
			id, err := NewRegistries().Pull(t.Context(), c.image, c.secrets)
			if id != c.id || !strings.Contains(message(err), c.err) || (err == nil) != (c.err == "") {
				t.Errorf("Pull %s: got %s, %v, want %s, %s", c.image, id, err, c.id, c.err)
			}
		})
	}
}

func TestPullWithAToken(t *testing.T) {
	registry := serve(t, func(r *http.Request) bool { return r.Header.Get("Authorization") == "Bearer of-u" })
	id, err := NewRegistries().Pull(t.Context(), registry+"/shop/a:one", []corev1.Secret{secret(t, registry, "u", "p")})
	if err != nil || id != registry+"/shop/a@"+there {
		t.Errorf("Pull: got %s, %v", id, err)
	}
	if _, err := NewRegistries().Pull(t.Context(), registry+"/shop/a:one", nil); err == nil {
		t.Error("Pull without a secret: got an image")
	}
}

// serve is a registry of one image, /shop/a:one. Whom it does not admit it sends
// for a token, which it gives to anyone who has a name.
func serve(t *testing.T, admit func(*http.Request) bool) (host string) {
	t.Helper()
	mux := http.NewServeMux()
	var server *httptest.Server
	mux.HandleFunc("GET /token", func(w http.ResponseWriter, r *http.Request) {
		user, _, _ := r.BasicAuth()
		if user == "" || r.FormValue("scope") != "repository:shop/a:pull" {
			http.Error(w, "who are you", http.StatusUnauthorized)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"token": "of-" + user})
	})
	mux.HandleFunc("GET /v2/shop/{name}/manifests/{version}", func(w http.ResponseWriter, r *http.Request) {
		switch name, version := r.PathValue("name"), r.PathValue("version"); {
		case !admit(r):
			w.Header().Set("WWW-Authenticate", `Bearer realm="`+server.URL+`/token",service="s",scope="repository:shop/a:pull"`)
			w.WriteHeader(http.StatusUnauthorized)
		case name == "ill":
			w.WriteHeader(http.StatusInternalServerError)
		case name == "text":
			w.Header().Set("Content-Type", "text/plain")
		case version != "one" && version != there:
			w.WriteHeader(http.StatusNotFound)
		default:
			w.Header().Set("Content-Type", accepted[0])
			w.Header().Set("Docker-Content-Digest", there)
		}
	})
	server = httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

func secret(t *testing.T, host, user, password string) corev1.Secret {
	t.Helper()
	config, err := json.Marshal(map[string]any{"auths": map[string]any{host: map[string]string{"username": user, "password": password}}})
	if err != nil {
		t.Fatal(err)
	}
	return corev1.Secret{Type: corev1.SecretTypeDockerConfigJson, Data: map[string][]byte{corev1.DockerConfigJsonKey: config}}
}

func TestProtocol(t *testing.T) {
	for host, want := range map[string]string{
		"localhost:5000": "http", "127.0.0.2": "http", "[::1]:5000": "http",
		"example.com": "https", "10.0.0.1:5000": "https", "localhost.example.com": "https",
	} {
		if got := protocol(host); got != want {
			t.Errorf("protocol(%q): got %s, want %s", host, got, want)
		}
	}
}

// What a registry says is read without trust in it.
func FuzzTokenURL(f *testing.F) {
	f.Add(`Bearer realm="https://example.com/token",service="s",scope="repository:a:pull"`)
	f.Add(`Bearer realm="`)
	f.Fuzz(func(t *testing.T, challenge string) {
		got, err := tokenURL(challenge)
		if (got == "") != (err != nil) {
			t.Errorf("tokenURL(%q): got %q, %v", challenge, got, err)
		}
	})
}
