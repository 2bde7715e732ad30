package registry

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/distribution/distribution/v3"
	"github.com/distribution/distribution/v3/registry/storage/driver"
	"github.com/distribution/reference"
	"github.com/opencontainers/go-digest"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// pageRows bounds what one page lists: each row is read from the disk.
const pageRows = 1000

// page lists repositories and tags.
type page struct{ stored distribution.Namespace }

// listing is what the page shows.
type listing struct {
	Host string
	// Only is the beginning of the repositories that are listed, or empty.
	Only string
	Rows []row
	// More says that there is more than a page holds.
	More bool
}

// row is one tag.
type row struct {
	Repository, Tag, Digest string
	// Kind is what it is, such as "image" or "Helm chart".
	Kind      string
	Platforms string
	// Size is of all that a pull of every platform takes.
	Size string
}

// ServeHTTP implements http.Handler.
func (p *page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	found, err := p.list(r.Context(), r.URL.Query().Get("repository"))
	if err != nil {
		http.Error(w, "the registry's directory cannot be read", http.StatusInternalServerError)
		return
	}
	found.Host = r.Host
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
	header.Set("X-Content-Type-Options", "nosniff")
	_ = pageTemplate.Execute(w, found) // who asked has gone
}

func (p *page) list(ctx context.Context, only string) (listing, error) {
	found := listing{Only: only}
	names, err := p.repositories(ctx)
	if err != nil {
		return found, err
	}
	for _, name := range names {
		if !strings.HasPrefix(name, only) {
			continue
		}
		rows, err := p.tags(ctx, name, pageRows-len(found.Rows))
		if errors.Is(err, errMore) {
			found.More, err = true, nil
		}
		if err != nil {
			return found, err
		}
		found.Rows = append(found.Rows, rows...)
	}
	return found, nil
}

// repositories are all, sorted.
func (p *page) repositories(ctx context.Context) ([]string, error) {
	var all []string
	batch, last := make([]string, 200), ""
	for {
		n, err := p.stored.Repositories(ctx, batch, last)
		all = append(all, batch[:n]...)
		switch {
		case isMissing(err), errors.Is(err, io.EOF):
			slices.Sort(all)
			return all, nil
		case err != nil:
			return nil, err
		case n == 0:
			return all, nil
		}
		last = batch[n-1]
	}
}

// isMissing tells that nothing was stored yet.
func isMissing(err error) bool {
	var missing driver.PathNotFoundError
	return errors.As(err, &missing)
}

var errMore = errors.New("there are more")

func (p *page) tags(ctx context.Context, name string, limit int) ([]row, error) {
	named, err := reference.WithName(name)
	if err != nil {
		return nil, nil //nolint:nilerr // a directory that is no repository
	}
	repository, err := p.stored.Repository(ctx, named)
	if err != nil {
		return nil, err
	}
	tags, err := repository.Tags(ctx).All(ctx)
	if err != nil {
		return nil, nil //nolint:nilerr // all its tags were deleted
	}
	manifests, err := repository.Manifests(ctx)
	if err != nil {
		return nil, err
	}
	slices.Sort(tags)
	var rows []row
	for _, tag := range tags {
		if len(rows) >= limit {
			return rows, errMore
		}
		one, err := repository.Tags(ctx).Get(ctx, tag)
		if err != nil {
			continue // deleted meanwhile
		}
		rows = append(rows, describe(ctx, manifests, name, tag, one.Digest))
	}
	return rows, nil
}

// manifest is what all kinds of manifests say, as far as it matters here.
type manifest struct {
	Config    entry   `json:"config"`
	Layers    []entry `json:"layers"`
	Manifests []entry `json:"manifests"`
}

type entry struct {
	MediaType string        `json:"mediaType"`
	Digest    digest.Digest `json:"digest"`
	Size      int64         `json:"size"`
	Platform  *struct {
		OS           string `json:"os"`
		Architecture string `json:"architecture"`
		Variant      string `json:"variant"`
	} `json:"platform"`
}

func describe(ctx context.Context, manifests distribution.ManifestService, repository, tag string, d digest.Digest) row {
	r := row{Repository: repository, Tag: tag, Digest: d.String()}
	m, size, err := read(ctx, manifests, d)
	if err != nil {
		r.Kind = "damaged"
		return r
	}
	r.Kind = kindOf(m)
	var platforms []string
	for _, one := range m.Manifests {
		if one.Platform != nil {
			platforms = append(platforms, strings.Trim(one.Platform.OS+"/"+one.Platform.Architecture+"/"+one.Platform.Variant, "/"))
		}
		if _, below, err := read(ctx, manifests, one.Digest); err == nil {
			size += below
		}
	}
	r.Platforms, r.Size = strings.Join(platforms, ", "), humanSize(size)
	return r
}

// read returns a manifest and how large it is with its blobs.
func read(ctx context.Context, manifests distribution.ManifestService, d digest.Digest) (m manifest, size int64, err error) {
	stored, err := manifests.Get(ctx, d)
	if err != nil {
		return m, 0, err
	}
	_, raw, err := stored.Payload()
	if err != nil {
		return m, 0, err
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return m, 0, err
	}
	size = int64(len(raw)) + m.Config.Size
	for _, layer := range m.Layers {
		size += layer.Size
	}
	return m, size, nil
}

func kindOf(m manifest) string {
	switch {
	case len(m.Manifests) > 0:
		return "image of " + fmt.Sprint(len(m.Manifests)) + " platforms"
	case strings.HasPrefix(m.Config.MediaType, "application/vnd.cncf.helm"):
		return "Helm chart"
	case strings.HasPrefix(m.Config.MediaType, "application/vnd.toa.index"):
		return "index of toa"
	case strings.Contains(m.Config.MediaType, "image"):
		return "image"
	default:
		return cmp.Or(m.Config.MediaType, "artifact")
	}
}

func humanSize(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	default:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
}
