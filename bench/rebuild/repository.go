package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

const manifestType = "application/vnd.oci.image.manifest.v1+json"

// repository is where an image goes.
type repository struct{ host, name string }

func (r repository) url(path string) string { return "http://" + r.host + "/v2/" + r.name + "/" + path }

// upload sends a blob in the two requests that it takes.
func (r repository) upload(ctx context.Context, blob []byte) error {
	from, err := url.Parse(r.url("blobs/uploads/"))
	if err != nil {
		return err
	}
	opened, err := send(ctx, http.MethodPost, from.String(), "", nil, http.StatusAccepted)
	if err != nil {
		return err
	}
	session, err := from.Parse(opened.Get("Location"))
	if err != nil {
		return err
	}
	query := session.Query()
	query.Set("digest", digest(blob))
	session.RawQuery = query.Encode()
	_, err = send(ctx, http.MethodPut, session.String(), "application/octet-stream", blob, http.StatusCreated)
	return err
}

// put tags a manifest.
func (r repository) put(ctx context.Context, manifest []byte) error {
	_, err := send(ctx, http.MethodPut, r.url("manifests/latest"), manifestType, manifest, http.StatusCreated)
	return err
}

// client keeps a connection for each of those that are at work.
var client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: jobs}}

func send(ctx context.Context, method, url, mediaType string, body []byte, want int) (http.Header, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if mediaType != "" {
		request.Header.Set("Content-Type", mediaType)
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close() //nolint:errcheck // it was read to its end
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return nil, err
	}
	if response.StatusCode != want {
		return nil, fmt.Errorf("%s %s: %s", method, url, response.Status)
	}
	return response.Header, nil
}
