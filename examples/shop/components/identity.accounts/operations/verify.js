'use strict'

async function transition (input, entry) {
  if (entry.code !== input.code)
    return new Error('WRONG_CODE')

  entry.verified = true
}

exports.transition = transition
