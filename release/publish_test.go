package release_test

import (
	"bytes"
	"context"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	distribution "github.com/distribution/distribution/v3/configuration"
	"github.com/distribution/distribution/v3/registry/handlers"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/inmemory"
	"github.com/sirupsen/logrus"
	"helm.sh/helm/v3/pkg/chart/loader"
	helm "helm.sh/helm/v3/pkg/registry"

	"toa.io/toa/cache"
	"toa.io/toa/chart"
	"toa.io/toa/images"
	"toa.io/toa/orchestrator"
	"toa.io/toa/release"
	"toa.io/toa/workspace"
)

// shelf is a real registry in this process; it returns its address.
func shelf(t *testing.T) string {
	t.Helper()
	logrus.SetLevel(logrus.PanicLevel)
	config := &distribution.Configuration{Storage: distribution.Storage{
		"inmemory":    distribution.Parameters{},
		"maintenance": distribution.Parameters{"uploadpurging": map[any]any{"enabled": false}},
	}}
	config.Log.AccessLog.Disabled = true
	config.HTTP.Secret = "test"
	server := httptest.NewServer(handlers.NewApp(t.Context(), config))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// publishing is a packager that publishes below base, and the client it does
// that with.
func publishing(t *testing.T, dir, base string) (*release.Packager, *images.Client) {
	t.Helper()
	blobs, err := cache.OpenBlobs(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	client := &images.Client{Backoff: time.Millisecond}
	remote := &images.Remote{Client: client, Blobs: blobs}
	return &release.Packager{
		Dir: dir, Settings: workspace.Release{Registry: base},
		Publish: func(ctx context.Context, p release.Package) (orchestrator.Reference, error) {
			return remote.PublishChart(ctx, base, images.Chart(p))
		},
	}, client
}

func TestHelmPullsWhatWasPublished(t *testing.T) {
	host := shelf(t)
	p, _ := publishing(t, t.TempDir(), host+"/charts")
	c := shop(t)
	made, data := packaged(t, p, c)
	if made.Status != "packaged" || !strings.HasPrefix(made.Reference, host+"/charts/my-shop:1.10.0@sha256:") {
		t.Fatalf("released %+v", made)
	}
	client, err := helm.NewClient(helm.ClientOptPlainHTTP(), helm.ClientOptWriter(io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	pulled, err := client.Pull("oci://" + host + "/charts/my-shop:1.10.0")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(pulled.Chart.Data, data) || pulled.Chart.Meta.Name != "my-shop" || pulled.Chart.Meta.Version != "1.10.0" {
		t.Errorf("helm pulls %d bytes of %+v, want the package of %d", len(pulled.Chart.Data), pulled.Chart.Meta, len(data))
	}
	if _, err := loader.LoadArchive(bytes.NewReader(pulled.Chart.Data)); err != nil {
		t.Error(err)
	}
	if want := "@" + pulled.Manifest.Digest; !strings.HasSuffix(made.Reference, want) {
		t.Errorf("reference is %s, helm pulls %s", made.Reference, want)
	}

	reference, err := orchestrator.ParseReference(made.Reference)
	if err != nil {
		t.Fatal(err)
	}
	remote := &images.Remote{Client: &images.Client{}}
	fetched, err := remote.FetchChart(t.Context(), reference)
	if err != nil || !bytes.Equal(fetched, data) {
		t.Errorf("we fetch %d bytes, %v", len(fetched), err)
	}
}

func TestHelmsOwnArtifactIsFetched(t *testing.T) {
	host := shelf(t)
	_, data := packaged(t, &release.Packager{Dir: t.TempDir()}, shop(t))
	client, err := helm.NewClient(helm.ClientOptPlainHTTP(), helm.ClientOptWriter(io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Push(data, host+"/charts/my-shop:1.10.0"); err != nil {
		t.Fatal(err)
	}
	fetched, err := (&images.Remote{Client: &images.Client{}}).FetchChart(t.Context(), orchestrator.Reference{Repository: host + "/charts/my-shop", Tag: "1.10.0"})
	if err != nil || !bytes.Equal(fetched, data) {
		t.Errorf("we fetch %d bytes, %v", len(fetched), err)
	}
}

// versioned is a chart whose version no tag can have as it is.
func versioned() *chart.Chart {
	c := small()
	c.Files[1].Data = []byte("apiVersion: v2\nname: shop\ndescription: Sells things\nversion: 1.2.3+4\n")
	return c
}

func TestUnchangedPackageIsNotPublishedAgain(t *testing.T) {
	host, dir := shelf(t), t.TempDir()
	p, client := publishing(t, dir, host+"/charts")
	first, _ := packaged(t, p, versioned())
	if first.Reference == "" || !strings.Contains(first.Reference, "/shop:1.2.3_4@") {
		t.Fatalf("released %+v", first)
	}
	sent := client.Requests()
	if again, _ := packaged(t, p, versioned()); again.Status != "unchanged" || again.Reference != first.Reference || client.Requests() != sent {
		t.Errorf("again: %+v, %d requests", again, client.Requests()-sent)
	}
	if standing, current := standing(t, p); !current || standing.Reference != first.Reference {
		t.Errorf("standing: %+v, %t", standing, current)
	}
	// Another cache that has lost the note finds out with one question.
	other, lost := publishing(t, t.TempDir(), host+"/charts")
	if made, _ := packaged(t, other, versioned()); made.Reference != first.Reference || lost.Requests() != 1 {
		t.Errorf("elsewhere: %+v, %d requests", made, lost.Requests())
	}
	// Another registry does not have it.
	elsewhere, _ := publishing(t, dir, shelf(t)+"/charts")
	if _, current := standing(t, elsewhere); current {
		t.Error("a package is current that the registry does not have")
	}
	if made, _ := packaged(t, elsewhere, versioned()); made.Status != "packaged" || made.Reference == first.Reference {
		t.Errorf("to another registry: %+v", made)
	}
}

func TestPackageThatCannotBePublishedIsNotCurrent(t *testing.T) {
	p, _ := publishing(t, t.TempDir(), "127.0.0.1:1/charts")
	if made, err := p.Release(t.Context(), inputs, versioned()); err == nil {
		t.Fatalf("released %+v", made)
	}
	if _, current := standing(t, p); current {
		t.Error("what was not published is current")
	}
}
