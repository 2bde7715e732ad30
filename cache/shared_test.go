package cache_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"toa.io/toa/cache"
)

// rowSets are what machines may know: few images and times, so that they meet.
var rowSets = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) cache.Row {
	row := cache.Row{
		Repository: rapid.SampledFrom([]string{"edge", "back"}).Draw(t, "repository"),
		Key:        keyOf(rapid.IntRange(0, 3).Draw(t, "key")).String(),
		Digest:     digestOf(rapid.IntRange(0, 2).Draw(t, "digest")),
		Verified:   rapid.Int64Range(0, 3).Draw(t, "verified"),
	}
	if rapid.Bool().Draw(t, "last") {
		row.Target = "composition/" + row.Repository
	}
	return row
}), 0, 8)

// In which order and how often machines tell each other does not matter.
func TestUnionOfRowsIsOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := rowSets.Draw(t, "a"), rowSets.Draw(t, "b"), rowSets.Draw(t, "c")
		want := cache.Union(a, b, c)
		for name, got := range map[string][]cache.Row{
			"in another order": cache.Union(c, a, b),
			"the first first":  cache.Union(cache.Union(a, b), c),
			"the last first":   cache.Union(a, cache.Union(b, c)),
			"twice":            cache.Union(want, a, want),
		} {
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%s:\n got %v\nwant %v", name, got, want)
			}
		}
		if left := cache.Without(cache.Union(a), want); len(left) != 0 {
			t.Fatalf("the union lacks %v", left)
		}
		if again := cache.Union(a, cache.Without(b, a)); len(cache.Without(b, again)) != 0 {
			t.Fatalf("what was left of b is not enough: %v", cache.Without(b, again))
		}
	})
}

func TestIndexMergesWhatOthersTell(t *testing.T) {
	const prefix = "registry.example.com/shop/"
	one := cache.NewIndex(cache.OpenDB(filepath.Join(t.TempDir(), "db", "index.db"), nil))
	put(t, one, 1)
	put(t, one, 2)
	must(t, one.Put(host, "registry.example.com/other/composition-edge", keyOf(3), cache.Entry{Digest: digestOf(3)}, "t", nil))
	rows := one.Rows(host, prefix)
	if len(rows) != 2 || rows[0].Repository != "composition-edge" {
		t.Fatalf("rows: %v", rows)
	}
	data, err := cache.EncodeShard(rows)
	must(t, err)
	told, err := cache.DecodeShard(data)
	must(t, err)

	path := filepath.Join(t.TempDir(), "db", "index.db")
	two := cache.NewIndex(cache.OpenDB(path, nil))
	if has(two, 1) {
		t.Fatal("it is there before")
	}
	must(t, two.Merge(host, prefix, told, time.Unix(1, 0)))
	for name, x := range map[string]*cache.Index{"here": two, "later": cache.NewIndex(cache.OpenDB(path, nil))} {
		entry, err := x.Get(host, repo, keyOf(2))
		if err != nil || entry.Digest != digestOf(2) || len(entry.Platforms) != 2 {
			t.Errorf("%s: %+v, %v", name, entry, err)
		}
		if !entry.VerifiedAt.Equal(time.Unix(1, 0)) {
			t.Errorf("%s: verified at %s, which is not past", name, entry.VerifiedAt)
		}
		if latest, err := x.Latest(host, repo, "composition/edge"); err != nil || latest != keyOf(2) {
			t.Errorf("%s: Latest = %v, %v", name, latest, err)
		}
	}
	if left := cache.Without(two.Rows(host, prefix), rows); len(left) != 0 {
		t.Errorf("two knows more than it was told: %v", left)
	}
}

// A registry lies about what it has lost, to other machines too: however late they
// were told that an image is there, that is no word on its blobs.
func TestIndexMergesNothingOfWhatLostSomething(t *testing.T) {
	const prefix, lost = "registry.example.com/shop/", "sha256:lost"
	other := cache.NewIndex(cache.OpenDB(filepath.Join(t.TempDir(), "db", "index.db"), nil))
	put(t, other, 1)
	must(t, other.Put(host, prefix+"composition-back", keyOf(2), cache.Entry{Digest: digestOf(2)}, "composition/back", nil))
	told, later := other.Rows(host, prefix), time.Unix(1<<40, 0)
	for i := range told {
		told[i].Verified = later.Unix()
	}

	path := filepath.Join(t.TempDir(), "db", "index.db")
	must(t, cache.NewIndex(cache.OpenDB(path, nil)).Lose(host, repo, lost))
	x := cache.NewIndex(cache.OpenDB(path, nil))
	must(t, x.Merge(host, prefix, told, later))
	if has(x, 1) {
		t.Error("an image of the repository counts as published again")
	}
	if _, err := x.Latest(host, repo, "composition/edge"); err == nil {
		t.Error("it counts as the last of its target")
	}
	if _, err := x.Get(host, prefix+"composition-back", keyOf(2)); err != nil {
		t.Errorf("an image of another repository: %v", err)
	}
	x.Mended(host, repo, lost)
	must(t, x.Merge(host, prefix, told, later))
	if !has(x, 1) {
		t.Error("nothing is believed of the repository after it was mended")
	}
}

func TestShardsOfEqualRowsAreEqual(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rowSets.Draw(t, "rows")
		one, err := cache.EncodeShard(cache.Union(rows))
		if err != nil {
			t.Fatal(err)
		}
		slices.Reverse(rows)
		two, err := cache.EncodeShard(cache.Union(rows))
		if err != nil || !bytes.Equal(one, two) {
			t.Fatalf("%v: %v", rows, err)
		}
	})
}

func TestShardsThatAreNone(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON":         "shard",
		"another version": `{"version": 2}`,
		"a short digest":  row(`"digest": "sha256:00"`),
		"no key":          row(`"key": ""`),
		"no repository":   row(`"repository": ""`),
		"a zero byte":     row(`"repository": "a\u0000b"`),
		"a long target":   row(fmt.Sprintf(`"target": %q`, bytes.Repeat([]byte("x"), 2000))),
	} {
		t.Run(name, func(t *testing.T) {
			if rows, err := cache.DecodeShard(zipped(t, text)); err == nil {
				t.Errorf("accepted: %v", rows)
			}
		})
	}
	if _, err := cache.DecodeShard(zipped(t, row(`"target": "t"`))); err != nil {
		t.Errorf("a right one: %v", err)
	}
	if _, err := cache.DecodeShard(zipped(t, `"`+strings.Repeat("x", 16<<20)+`"`)); err == nil {
		t.Error("accepted more than 16 MiB")
	}
}

// row is a shard of a row that is right but for what is stated last.
func row(last string) string {
	return fmt.Sprintf(`{"version": 1, "rows": [{"repository": "edge", "key": %q, "digest": %q, %s}]}`, keyOf(1), digestOf(1), last)
}

func zipped(t testing.TB, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	zip, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := zip.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func FuzzDecodeShard(f *testing.F) {
	data, err := cache.EncodeShard([]cache.Row{{Repository: "edge", Key: keyOf(1).String(), Digest: digestOf(1), Target: "composition/edge"}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add(zipped(f, `{"version": 1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		rows, err := cache.DecodeShard(data)
		if err != nil {
			return
		}
		again, err := cache.EncodeShard(cache.Union(rows))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := cache.DecodeShard(again); err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
	})
}
