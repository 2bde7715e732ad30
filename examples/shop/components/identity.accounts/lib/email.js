'use strict'

const SHAPE = /^[^\s@]+@[^\s@.]+(\.[^\s@.]+)+$/

/** Returns an address in its usual form, or undefined if it cannot be one. */
function normalize (text) {
  const trimmed = text.trim()

  if (!SHAPE.test(trimmed))
    return undefined

  const at = trimmed.lastIndexOf('@')

  return trimmed.slice(0, at) + trimmed.slice(at).toLowerCase()
}

exports.normalize = normalize
