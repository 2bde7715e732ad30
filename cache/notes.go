package cache

import "go.etcd.io/bbolt"

var notesBucket = []byte("notes/v1")

// Note returns what SetNote was given for a name in this workspace, or nil.
// Whoever keeps notes puts into them what they are true of.
func (f *Files) Note(name string) []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	if note, ok := f.notes[name]; ok {
		return note
	}
	var note []byte
	err := f.db.view(func(tx *bbolt.Tx) error {
		if bucket := tx.Bucket(notesBucket); bucket != nil {
			if payload, err := unseal(f.key(name), bucket.Get(f.key(name))); err == nil {
				note = append(note, payload...)
			}
		}
		return nil
	})
	if err != nil {
		return nil
	}
	return note
}

// SetNote remembers a note under a name, once Save is called.
func (f *Files) SetNote(name string, note []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.notes[name] = note
}

func (f *Files) saveNotes(tx *bbolt.Tx) error {
	bucket, err := tx.CreateBucketIfNotExists(notesBucket)
	if err != nil {
		return err
	}
	for _, name := range sortedKeys(f.notes) {
		if err := bucket.Put(f.key(name), seal(f.key(name), f.notes[name])); err != nil {
			return err
		}
	}
	return nil
}
