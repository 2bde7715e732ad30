package ui

import (
	"errors"
	"io"
	"strings"
	"testing"

	"toa.io/toa/graph"
	"toa.io/toa/orchestrator"
)

func TestShow(t *testing.T) {
	for format, file := range map[string]string{
		"tree": "show.txt", "json": "show.json", "dot": "show.dot", "mermaid": "show.mmd", "html": "show.html",
	} {
		t.Run(format, func(t *testing.T) {
			var out strings.Builder
			if err := Show(&out, shopPlan(t), format); err != nil {
				t.Fatal(err)
			}
			golden(t, file, out.String())
		})
	}
}

func TestShowNothing(t *testing.T) {
	g, err := graph.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range Formats {
		var out strings.Builder
		if err := Show(&out, &orchestrator.Plan{Context: "empty", Graph: g}, format); err != nil || out.Len() == 0 {
			t.Errorf("Show(%s) of nothing = %q, %v", format, out.String(), err)
		}
	}
}

func TestShowRefusesUnknownFormats(t *testing.T) {
	err := Show(io.Discard, shopPlan(t), "png")
	var unknown *FormatError
	if !errors.As(err, &unknown) || !strings.Contains(unknown.Hint(), "mermaid or html") {
		t.Errorf("Show = %v, want a *FormatError with a hint", err)
	}
}

// A name is a name in every format, whatever it holds.
func TestShowEscapes(t *testing.T) {
	evil := `</script><img src=x onerror=alert(1)>"];end;"\N&lt;` + "`${1}`"
	plan := hostile(t, evil)[0].(orchestrator.PlanEvent).Plan
	for format, forbidden := range map[string][]string{
		"html":    {"<img", "</script><img", "onerror=alert(1)>\""},
		"dot":     {`>"];end`, `;"\N`, "&lt;"},
		"mermaid": {`"];end`, "<img"},
	} {
		var out strings.Builder
		if err := Show(&out, plan, format); err != nil {
			t.Fatal(err)
		}
		for _, text := range forbidden {
			if strings.Contains(out.String(), text) {
				t.Errorf("%s contains %q:\n%.2000s", format, text, out.String())
			}
		}
	}
}

func TestShowHTMLLoadsNothing(t *testing.T) {
	var out strings.Builder
	if err := Show(&out, shopPlan(t), "html"); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"https://", "src=", "<link", "@import", "url("} {
		if strings.Contains(out.String(), text) {
			t.Errorf("the page contains %q", text)
		}
	}
}

// A part that two targets share is written once.
func TestTreeOfADiamond(t *testing.T) {
	g, err := graph.New([]graph.Target{
		{ID: "component/c"},
		{ID: "dependencies/d", Dependencies: []graph.ID{"component/c"}},
		{ID: "composition/a", Dependencies: []graph.ID{"dependencies/d"}},
		{ID: "composition/b", Dependencies: []graph.ID{"dependencies/d"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := Show(&out, &orchestrator.Plan{Context: "x", Graph: g}, "tree"); err != nil {
		t.Fatal(err)
	}
	want := `x
├─ composition/a
│  └─ dependencies/d
│     └─ component/c
└─ composition/b
   └─ dependencies/d  (see above)
`
	if out.String() != want {
		t.Errorf("tree =\n%s\nwant\n%s", out.String(), want)
	}
}

func TestWritePlan(t *testing.T) {
	var text, data strings.Builder
	if err := WritePlan(&text, shopPlan(t)); err != nil {
		t.Fatal(err)
	}
	golden(t, "plan.txt", text.String())
	if err := WritePlanJSON(&data, shopPlan(t), nil); err != nil {
		t.Fatal(err)
	}
	golden(t, "plan.json", data.String())
}

func TestWritersSayWhatTheyCouldNotWrite(t *testing.T) {
	plan := shopPlan(t)
	for name, err := range map[string]error{
		"WritePlan":     WritePlan(&full{}, plan),
		"WritePlanJSON": WritePlanJSON(&full{}, plan, nil),
		"Show":          Show(&full{}, plan, "tree"),
	} {
		if !errors.Is(err, errFull) {
			t.Errorf("%s = %v, want %v", name, err, errFull)
		}
	}
}
