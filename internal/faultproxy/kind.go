package faultproxy

import (
	"net/http"
	"strings"
)

// Kind is what a request asks for.
type Kind string

// Kinds of requests.
const (
	Ping         Kind = "ping"
	Token        Kind = "token"
	HeadBlob     Kind = "HEAD blob"
	GetBlob      Kind = "GET blob"
	Post         Kind = "POST upload"
	Mount        Kind = "POST mount"
	Patch        Kind = "PATCH upload"
	PutBlob      Kind = "PUT blob"
	HeadManifest Kind = "HEAD manifest"
	GetManifest  Kind = "GET manifest"
	PutManifest  Kind = "PUT manifest"
	Other        Kind = "other"
)

// call is what a request is about.
type call struct {
	kind       Kind
	repository string
}

// callOf reads a request. One for a token is about the repository that its first
// scope names.
func callOf(r *http.Request) call {
	path, isAPI := strings.CutPrefix(r.URL.Path, "/v2/")
	switch {
	case !isAPI:
		_, scope, _ := strings.Cut(r.URL.Query().Get("scope"), ":")
		repository, _, _ := strings.Cut(scope, ":")
		return call{Token, repository}
	case path == "":
		return call{Ping, ""}
	}
	if repository, _, ok := strings.Cut(path, "/blobs/uploads/"); ok {
		return call{upload(r), repository}
	}
	if repository, _, ok := strings.Cut(path, "/blobs/"); ok {
		return call{verb(r, HeadBlob, GetBlob, Other), repository}
	}
	if repository, _, ok := strings.Cut(path, "/manifests/"); ok {
		return call{verb(r, HeadManifest, GetManifest, PutManifest), repository}
	}
	return call{Other, ""}
}

func upload(r *http.Request) Kind {
	switch r.Method {
	case http.MethodPost:
		if r.URL.Query().Get("mount") != "" {
			return Mount
		}
		return Post
	case http.MethodPatch:
		return Patch
	case http.MethodPut:
		return PutBlob
	default:
		return Other
	}
}

func verb(r *http.Request, head, get, put Kind) Kind {
	switch r.Method {
	case http.MethodHead:
		return head
	case http.MethodGet:
		return get
	case http.MethodPut:
		return put
	default:
		return Other
	}
}
