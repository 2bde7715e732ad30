'use strict'

const { may } = require('../lib/status.js')

async function transition (input, entry) {
  if (!may(entry.status, 'cancelled'))
    return new Error('TOO_LATE')

  entry.status = 'cancelled'
  entry.TRAILERS.reason = input?.reason ?? 'changed their mind'
}

exports.transition = transition
