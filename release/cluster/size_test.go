package cluster

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	helmrelease "helm.sh/helm/v3/pkg/release"
)

// noise cannot be compressed.
func noise(size int) string {
	data := []byte("begin")
	for len(data) < size {
		sum := sha256.Sum256(data[max(0, len(data)-sha256.Size):])
		data = append(data, sum[:]...)
	}
	return base64.StdEncoding.EncodeToString(data)
}

func TestSizeOfTheRecord(t *testing.T) {
	b := onPaper(t)
	if err := b.render([]unit{{name: "edge"}}, configMap("big", noise(200<<10))).checkSize(); err != nil {
		t.Errorf("checkSize = %v, want room for it", err)
	}
	// What the chart's files hold is kept beside the manifest made of them.
	err := b.render([]unit{{name: "edge"}}, configMap("small", noise(100<<10)), configMap("big", noise(500<<10))).checkSize()
	var size *SizeError
	if !errors.As(err, &size) {
		t.Fatalf("checkSize = %v, want a *SizeError", err)
	}
	if size.Size <= maxRecord || size.Limit != maxRecord {
		t.Errorf("size %d and limit %d, want more than 900 KiB, and that", size.Size, size.Limit)
	}
	if size.Largest[0].Name != "ConfigMap big" || size.Largest[1].Name != "ConfigMap small" {
		t.Errorf("the largest are %+v, want ConfigMap big, ConfigMap small", size.Largest)
	}
	if text := err.Error(); !strings.Contains(text, "at most 900 KiB: most of it is ConfigMap big (") {
		t.Errorf("the error is %q", text)
	}
}

func TestARecordIsReadAsItWasWritten(t *testing.T) {
	want := &helmrelease.Release{Name: "shop", Version: 3, Manifest: "---\n# é\n"}
	data, err := writeRecord(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := readRecord(data)
	if err != nil || got.Name != want.Name || got.Version != want.Version || got.Manifest != want.Manifest {
		t.Errorf("readRecord = %+v, %v, want %+v", got, err, want)
	}
}

func FuzzReadRecord(f *testing.F) {
	good, _ := writeRecord(&helmrelease.Release{Name: "shop", Version: 3})
	f.Add(good)
	f.Add([]byte("bm8gZ3ppcA=="))
	f.Add([]byte("{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if record, err := readRecord(data); err == nil && record == nil {
			t.Error("readRecord returned neither a record nor an error")
		}
	})
}
