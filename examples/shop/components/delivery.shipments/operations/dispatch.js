'use strict'

async function transition (input, entry) {
  if (entry.status !== 'waiting')
    return new Error('ALREADY_SENT')

  entry.status = 'sent'
  entry.parcel = input.parcel
}

exports.transition = transition
