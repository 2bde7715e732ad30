'use strict'

/** Makes the request of a letter of what an event tells. */
function letter (event, kind) {
  return { input: { kind, values: event } }
}

exports.letter = letter
