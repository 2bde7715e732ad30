package cli

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"toa.io/toa/orchestrator"
)

func TestMatrixOf(t *testing.T) {
	m, err := parseMatrix([]byte(`{"include":[{"shard":"1/3","images":"composition/a,mono","seconds":1.5},{"shard":"3/3","images":"composition/b","seconds":0}]}` + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]string{{"composition/a", "mono"}, nil, {"composition/b"}} {
		if got, err := m.of(orchestrator.ShardOf{I: i + 1, N: 3}); err != nil || !slices.Equal(got, want) {
			t.Errorf("shard %d has %q, %v, want %q", i+1, got, err, want)
		}
	}
	if _, err := m.of(orchestrator.ShardOf{I: 1, N: 4}); err == nil || !strings.Contains(err.Error(), "among 3") {
		t.Errorf("a shard of four: %v", err)
	}
}

func TestMatrixIsReadStrictly(t *testing.T) {
	for _, text := range []string{
		"", "null", "[]", "{}", `{"include":null}`, `{"include":[]} {}`, `{"include":[{"shard":"0/1","images":"a"}]}`,
		`{"include":[{"shard":"1/1","images":""}]}`, `{"include":[{"shard":"1/1","images":"a"},{"shard":"1/1","images":"b"}]}`,
		`{"include":[{"shard":"1/1","images":"a","more":1}]}`, `{"include":[{"shard":"1/1","images":["a"]}]}`,
	} {
		if m, err := parseMatrix([]byte(text)); err == nil {
			t.Errorf("%s is %+v, want an error", text, m)
		}
	}
}

func FuzzParseMatrix(f *testing.F) {
	f.Add([]byte(`{"include":[{"shard":"1/2","images":"composition/a","seconds":1}]}`))
	f.Add([]byte(`{"include":[]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := parseMatrix(data)
		if err != nil {
			return
		}
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		again, err := parseMatrix(text)
		if err != nil || !slices.Equal(again.Include, m.Include) {
			t.Errorf("%s is %+v, and that is %+v, %v", data, m, again, err)
		}
	})
}
