'use strict'

const { normalize } = require('../lib/email.js')

async function transition (input, entry, context) {
  const email = normalize(input.email)

  if (email === undefined)
    return new Error('BAD_EMAIL')

  entry.email = email
  entry.name = input.name.trim()
  entry.verified = false
  entry.code = String(Math.floor(context.random() * 1e6)).padStart(6, '0')

  return { id: entry.id }
}

exports.transition = transition
