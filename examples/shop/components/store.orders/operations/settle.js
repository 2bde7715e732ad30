'use strict'

const { may } = require('../lib/status.js')

async function transition (input, entry) {
  if (entry.status === 'paid') {
    entry.DISCARD = true // the event came twice

    return
  }

  if (!may(entry.status, 'paid'))
    return new Error('NOT_PENDING')

  entry.status = 'paid'
}

exports.transition = transition
