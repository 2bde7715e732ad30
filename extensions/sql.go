package extensions

import (
	"net/url"
	"strings"

	"toa.io/toa/document"
)

// sql is storages.sql, which releases up to alpha.285 have.
func sql(in Input) Declaration {
	if !in.stated("an address of a database", "pg://host/database") {
		return Declaration{}
	}
	d := pointed(in, "sql")
	var p Pointer
	in.Reader.Under(in.Key, func() {
		addressed(document.NewReader(""), &p).Take(in.Annotation) // what is wrong was reported
		for _, e := range p.entries {
			in.database(e)
		}
	})
	return d
}

// database checks what the path of an address names: a database, a schema in
// it and a table, the more the more special the key is.
func (in Input) database(e pointerEntry) {
	depth := 1 + strings.Count(e.key, ".")
	if e.key == anywhere {
		depth = 0
	}
	for _, one := range e.addresses {
		u, err := url.Parse(one)
		if err != nil {
			continue // reported
		}
		names := strings.Split(strings.Trim(u.Path, "/"), "/")
		if names[0] == "" || len(names) > 1+min(depth, 2) {
			in.Reader.Fail(in.Annotation.At, "", "%s: expected %s in the path of the address for %s",
				in.Reader.Where(), []string{"a database", "a database, or also a schema", "a database, or also a schema and a table"}[min(depth, 2)], document.Quote(e.key))
		}
	}
}
