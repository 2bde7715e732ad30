//go:build failpoint

package failpoint

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]map[Name][]rule{
		"":                           {},
		"manifest.put=error":         {ManifestPut: {{action: actError}}},
		"manifest.put=kill@2,":       {ManifestPut: {{action: actKill, nth: 2}}},
		"tree.hashed=wait:/tmp/a:b":  {TreeHashed: {{action: actWait, path: "/tmp/a:b"}}},
		"tree.hashed=wait:/tmp/go@3": {TreeHashed: {{action: actWait, path: "/tmp/go", nth: 3}}},
		"blob.upload=error@1,blob.upload=panic@2,claim.taken=panic": {
			BlobUpload: {{action: actError, nth: 1}, {action: actPanic, nth: 2}}, ClaimTaken: {{action: actPanic}},
		},
	} {
		if got, err := parse(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("parse(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"manifest.put", "manifest.put=", "manifest.put=stop", "manifest=error", "=error", "manifest.put=error@0", "manifest.put=error@x",
		"manifest.put=error@1@2", "manifest.put=wait", "manifest.put=wait:", "manifest.put=kill:now",
	} {
		if got, err := parse(text); err == nil {
			t.Errorf("parse(%q) = %v, want an error", text, got)
		}
	}
}

func TestTheNthTime(t *testing.T) {
	rules, err := parse("manifest.put=error@2,blob.upload=error")
	if err != nil {
		t.Fatal(err)
	}
	p := &plan{rules: rules, hits: map[Name]int{}}
	for nth, want := range []bool{false, true, false} {
		var struck *Error
		if got := errors.As(p.at(ManifestPut), &struck); got != want || want && struck.Name != ManifestPut {
			t.Errorf("manifest.put fails at its time %d: %t, want %t", nth+1, got, want)
		}
		if p.at(BlobUpload) == nil {
			t.Errorf("blob.upload does not fail at its time %d", nth+1)
		}
	}
	if err := p.at(TreeHashed); err != nil {
		t.Errorf("tree.hashed was told nothing and fails: %v", err)
	}
}

func TestWaitAndTrace(t *testing.T) {
	dir := t.TempDir()
	open, log := filepath.Join(dir, "open"), filepath.Join(dir, "trace")
	waiting := rule{action: actWait, path: open}
	ended := make(chan error)
	go func() { ended <- waiting.act(TreeHashed) }()
	if err := os.WriteFile(open, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("the file is there, and it still waits")
	}
	for _, name := range []Name{TreeHashed, BlobRename} {
		if err := trace(log, name); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(log); err != nil || string(got) != "tree.hashed\nblob.rename\n" {
		t.Errorf("the trace is %q, %v", got, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("manifest.put=kill@2,tree.hashed=wait:/tmp/go")
	f.Fuzz(func(t *testing.T, text string) {
		rules, err := parse(text)
		if err != nil {
			return
		}
		for name, all := range rules {
			for _, r := range all {
				if r.nth < 0 || (r.action == actWait) != (r.path != "") {
					t.Errorf("parse(%q) has a rule that cannot be: %s %+v", text, name, r)
				}
			}
		}
	})
}
